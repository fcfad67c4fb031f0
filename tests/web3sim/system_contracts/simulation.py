"""One simulated call from within: functions of system contracts after one another, and what they change."""

from typing import Any, NamedTuple

from eth_abi.abi import encode

from mirror.core.values.hapi.result_codes import NAMES
from tests.web3sim.engine.world import code
from tests.web3sim.state.states import current, journal, long_zero
from tests.web3sim.system_contracts.calls import CALLER, SERVICE
from web3sim.engine.interface import Log, SystemAnswer, SystemCall
from web3sim.state.ledger import LedgerState
from web3sim.state.overlay import Overlay
from web3sim.state.proxy_code import REDIRECT_FOR_TOKEN
from web3sim.state.tables.rows import Nft, Relationship, Token
from web3sim.system_contracts.contracts import NetworkContracts
from web3sim.system_contracts.function_signatures import parameters_of, selector_of


def encoded_call(signature: str, *arguments: Any) -> bytes:
    return selector_of(signature) + encode(parameters_of(signature), arguments)


class Simulation:
    """Calls by one account or contract, without the EVM between."""

    def __init__(self, sender: int = CALLER, state: LedgerState | None = None) -> None:
        self.sender = sender
        self.state = current() if state is None else state
        self.journal = journal(self.state)
        self.overlay = Overlay(self.state, self.journal)
        self._contracts = NetworkContracts(self.state)

    def ask(self, signature: str, *arguments: Any, token: int | None = None) -> SystemAnswer:
        """Call the token service, or with `token` that token at its own address."""
        data = encoded_call(signature, *arguments)
        recipient = SERVICE if token is None else long_zero(token)
        if token is not None:
            data = REDIRECT_FOR_TOKEN + recipient + data
        sender = self.overlay.address_of(self.sender)
        return self._contracts.call(
            SystemCall(SERVICE, recipient, sender, data, 0, 10**7, static=False, depth=0), self.journal
        )

    def code(self, signature: str, *arguments: Any, token: int | None = None) -> str:
        """Return the response code that a function answers or reverts with."""
        answer = self.ask(signature, *arguments, token=token)
        assert answer.halt is None
        if answer.reverted and len(answer.output) != 32:
            return answer.output.decode()
        return NAMES[int.from_bytes(answer.output[:32])]

    def token(self, number: int) -> Token:
        token = self.overlay.token(number)
        assert token is not None
        return token

    def relationship(self, token: int, account: int) -> Relationship:
        relationship = self.overlay.relationship(self.token(token), account)
        assert relationship is not None
        return relationship

    def nft(self, token: int, serial_number: int) -> Nft:
        nft = self.overlay.nft(token, serial_number)
        assert nft is not None
        return nft

    def balances(self, token: int, *accounts: int) -> list[int]:
        return [self.overlay.token_balance(self.token(token), account) for account in accounts]

    def hbars(self, *accounts: int) -> list[int]:
        return [self.overlay.hbar_balance(account) for account in accounts]

    def owner(self, token: int, serial_number: int) -> int | None:
        return self.nft(token, serial_number).account_id


def logged(log: Log) -> tuple[int, ...]:
    """The numbers in a log: of the address, the topics but the first, the data."""
    numbers = (int.from_bytes(part) for part in (log.address, *log.topics[1:]))
    return (*numbers, *([int.from_bytes(log.data)] if log.data else []))


# CONTRACTS THAT CALL


class Step(NamedTuple):
    """A call that a contract makes."""

    to: bytes
    data: bytes
    kind: str = "CALL"
    gas: int = 3_000_000


_OFFSET_LENGTH = 4


def calling_contract(*steps: Step, then: str = "RETURN") -> bytes:
    """Code that makes calls and ends with a word for success and the first word of output of each."""
    size = len(_calling(steps, 0, then))
    return _calling(steps, size, then) + b"".join(step.data for step in steps)


def _calling(steps: tuple[Step, ...], data_at: int, then: str) -> bytes:
    operations: list[str | int | bytes] = []
    free = 64 * len(steps)
    for index, step in enumerate(steps):
        length = len(step.data).to_bytes(_OFFSET_LENGTH, "big")
        operations += [length, data_at.to_bytes(_OFFSET_LENGTH, "big"), free, "CODECOPY"]
        value = (0,) if step.kind == "CALL" else ()
        operations += [32, 64 * index + 32, length, free, *value, step.to, step.gas, step.kind]
        operations += [64 * index, "MSTORE"]
        data_at += len(step.data)
    return code(*operations, free, 0, then)


def outcomes(output: bytes) -> list[tuple[bool, int]]:
    """What `calling_contract` tells: for each call whether it succeeded, and the first word of its output."""
    words = [int.from_bytes(output[start : start + 32]) for start in range(0, len(output), 32)]
    return [(bool(success), word) for success, word in zip(words[::2], words[1::2], strict=True)]
