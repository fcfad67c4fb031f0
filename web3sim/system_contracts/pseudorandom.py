"""Pseudorandom numbers, 0x169 (HIP-351): the hash of the block in which a call runs."""

from web3sim.operations.prices import PSEUDORANDOM
from web3sim.system_contracts.abi import WORD
from web3sim.system_contracts.functions import Function, Invocation, by_selector, view_gas


def _seed(invocation: Invocation) -> bytes:
    return invocation.ledger.state.block.hash[:WORD]


def _gas(invocation: Invocation) -> int:
    """A number in the records of a transaction costs more than one that is only read."""
    return view_gas(invocation) if invocation.call.static else invocation.prices.gas_of(PSEUDORANDOM)


FUNCTIONS = by_selector((Function("getPseudorandomSeed()", _seed, "(bytes32)", _gas, has_code=False),))
