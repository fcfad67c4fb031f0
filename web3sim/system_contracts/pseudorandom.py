"""Pseudorandom numbers, 0x169 (HIP-351): the hash of the block in which a call runs."""

from web3sim.operations.prices import PSEUDORANDOM
from web3sim.system_contracts.abi import WORD
from web3sim.system_contracts.functions import Function, Gas, Invocation, by_selector, costs, view_gas


def _seed(invocation: Invocation) -> bytes:
    return invocation.ledger.state.block.hash[:WORD]


# A number in the records of a transaction costs more than one that is only read.
_WRITTEN = costs(PSEUDORANDOM)
_GAS = Gas(
    lambda invocation: view_gas(invocation) if invocation.call.static else _WRITTEN(invocation),
    f"{_WRITTEN.text}; in a static frame {view_gas.text}",
)

FUNCTIONS = by_selector(Function("getPseudorandomSeed()", _seed, "(bytes32)", _GAS, has_code=False))
