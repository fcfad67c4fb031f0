"""Tinycents to tinybars and back, 0x168 (HIP-475), by the network's rate that is in force."""

from web3sim.system_contracts.abi import WORD, InvalidArguments
from web3sim.system_contracts.functions import Function, Invocation, Operation, by_selector, flat

_GAS = 100


def _to_tinybars(invocation: Invocation, tinycents: int) -> int:
    return _amount(invocation.prices.tinybars(tinycents))


def _to_tinycents(invocation: Invocation, tinybars: int) -> int:
    return _amount(invocation.prices.tinycents(tinybars))


def _amount(number: int) -> int:
    if number >= 1 << WORD * 8 - 1:
        raise InvalidArguments(f"the amount {number} is 2^255 or more")
    return number


def _function(signature: str, operation: Operation) -> Function:
    return Function(signature, operation, "(uint256)", flat(_GAS), has_code=False, leaves_child=False)


FUNCTIONS = by_selector(
    (
        _function("tinycentsToTinybars(uint256)", _to_tinybars),
        _function("tinybarsToTinycents(uint256)", _to_tinycents),
    )
)
