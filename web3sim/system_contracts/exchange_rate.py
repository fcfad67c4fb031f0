"""Tinycents to tinybars and back, 0x168 (HIP-475), by the network's rate that is in force."""

from web3sim.system_contracts.abi import WORD, InvalidArguments, number_at, word_of
from web3sim.system_contracts.functions import Function, Invocation, by_selector

_GAS = 100


def _gas(invocation: Invocation) -> int:
    return _GAS


def _to_tinybars(invocation: Invocation) -> bytes:
    return _amount(invocation.prices.tinybars(number_at(invocation.arguments, 0)))


def _to_tinycents(invocation: Invocation) -> bytes:
    return _amount(invocation.prices.tinycents(number_at(invocation.arguments, 0)))


def _amount(number: int) -> bytes:
    if number >= 1 << WORD * 8:
        raise InvalidArguments(f"the amount {number} has more than a word")
    return word_of(number)


FUNCTIONS = by_selector(
    (
        Function("tinycentsToTinybars(uint256)", _to_tinybars, "(uint256)", gas=_gas, tells_code=False),
        Function("tinybarsToTinycents(uint256)", _to_tinycents, "(uint256)", gas=_gas, tells_code=False),
    )
)
