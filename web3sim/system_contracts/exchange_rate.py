"""Tinycents to tinybars and back, 0x168 (HIP-475), by the network's rate that is in force."""

from typing import Any

from web3sim.system_contracts.abi import WORD, InvalidArguments
from web3sim.system_contracts.functions import Function, Invocation, by_selector, flat


def _to_tinybars(invocation: Invocation, tinycents: int) -> int:
    return _amount(invocation.prices.tinybars(tinycents))


def _to_tinycents(invocation: Invocation, tinybars: int) -> int:
    return _amount(invocation.prices.tinycents(tinybars))


def _amount(number: int) -> int:
    if number >= 1 << WORD * 8 - 1:
        raise InvalidArguments(f"the amount {number} is 2^255 or more")
    return number


_CONVERSION: Any = {"returns": "(uint256)", "gas": flat(100), "has_code": False, "leaves_child": False}
FUNCTIONS = by_selector(
    Function("tinycentsToTinybars(uint256)", _to_tinybars, **_CONVERSION),
    Function("tinybarsToTinycents(uint256)", _to_tinycents, **_CONVERSION),
)
