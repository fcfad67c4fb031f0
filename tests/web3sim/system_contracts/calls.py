"""Calls of system contracts, through the plain engine."""

from tests.web3sim.state.states import long_zero
from web3sim.engine import registry
from web3sim.engine.interface import BlockEnvironment, CallRequest, CallResult
from web3sim.state.ledger import LedgerState
from web3sim.system_contracts.abi import word_of, word_of_address
from web3sim.system_contracts.contracts import NetworkContracts
from web3sim.system_contracts.signatures import selector_of

CALLER = 2009
SERVICE = long_zero(0x167)
BLOCK = BlockEnvironment(10, 1_700_000_000, long_zero(98), bytes(32), 15_000_000, 296)


def words(*values: int | bytes) -> bytes:
    return b"".join(word_of(value) if isinstance(value, int) else word_of_address(value) for value in values)


def data_of(signature: str, *values: int | bytes) -> bytes:
    """Call data whose arguments are words."""
    return selector_of(signature) + words(*values)


def run(
    state: LedgerState,
    to: bytes,
    data: bytes,
    *,
    sender: int = CALLER,
    static: bool = False,
    gas: int = 1_000_000,
    value: int = 0,
) -> CallResult:
    request = CallRequest(long_zero(sender), to, data, gas, value, static=static)
    return registry.engine("pyevm").execute(request, BLOCK, state, NetworkContracts(state))
