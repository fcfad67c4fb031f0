"""Calls of system contracts, through the plain engine."""

from typing import Any

from eth_abi.abi import encode

from mirror.core.values.hapi.result_codes import NAMES
from tests.web3sim.state.states import current, journal, long_zero
from web3sim.engine import registry
from web3sim.engine.interface import BlockEnvironment, CallRequest, CallResult, SystemAnswer, SystemCall
from web3sim.state.ledger import LedgerState
from web3sim.state.overlay import Overlay
from web3sim.state.tables.rows import Token
from web3sim.system_contracts.abi import word_of, word_of_address
from web3sim.system_contracts.contracts import NetworkContracts
from web3sim.system_contracts.function_signatures import parameters_of, selector_of

CALLER = 2009
SERVICE = long_zero(0x167)
BLOCK = BlockEnvironment(10, 1_700_000_000, long_zero(98), bytes(32), 15_000_000, 296)


CODES = {name: number for number, name in NAMES.items()}


class Calls:
    """Calls of system contracts in one simulation, after one another: each sees what those before changed."""

    def __init__(self, service: bytes = SERVICE, *, sender: int = CALLER) -> None:
        self.state = current()
        self.journal = journal(self.state)
        self.overlay = Overlay(self.state, self.journal)
        self.contracts = NetworkContracts(self.state)
        self.service, self.sender = service, long_zero(sender)

    def __call__(self, signature: str, *arguments: Any, value: int = 0, static: bool = False) -> SystemAnswer:
        data = selector_of(signature) + encode(parameters_of(signature), arguments)
        call = SystemCall(self.service, self.service, self.sender, data, value, 10**7, static=static, depth=0)
        return self.contracts.call(call, self.journal)

    def at(self, address: bytes, redirect: bytes, signature: str, *arguments: Any) -> SystemAnswer:
        """Call a token, an account or a schedule at its own address."""
        data = redirect + address + selector_of(signature) + encode(parameters_of(signature), arguments)
        call = SystemCall(self.service, address, self.sender, data, 0, 10**7, static=False, depth=0)
        return self.contracts.call(call, self.journal)

    def code(self, signature: str, *arguments: Any) -> str:
        """The name of the response code that a call answers."""
        answer = self(signature, *arguments)
        assert answer.halt is None
        assert not answer.reverted
        return NAMES[int.from_bytes(answer.output[:32])]

    def token(self, number: int) -> Token:
        token = self.overlay.token(number)
        assert token is not None
        return token


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
    request = CallRequest(long_zero(sender), to, data, gas, value, static=static, version=state.version)
    return registry.engine("pyevm").execute(request, BLOCK, state, NetworkContracts(state))
