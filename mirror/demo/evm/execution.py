"""Executing contracts by the engine that also simulates calls. Amounts are tinybars."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import NamedTuple

from mirror.core.values import entity_id
from mirror.demo.evm.system_contracts import GAS_PRICE, Services, SystemCallRequest
from mirror.demo.streams.record_files import FEE_COLLECTOR
from mirror.demo.world.accounts import Account
from mirror.demo.world.contracts import Contract, Hook
from mirror.demo.world.tokens import Token
from mirror.demo.world.world import World
from web3sim.engine.interface import (
    AccountKind,
    AccountRecord,
    BlockEnvironment,
    CallRequest,
    CallResult,
    FrameEnd,
    FrameStart,
    Halt,
    StateReader,
    Status,
    Step,
)
from web3sim.engine.registry import engine
from web3sim.state.proxy_code import proxy_code

CHAIN_ID = 298
# The system contract as which hooks run.
HOOK_CONTRACT = 365
HOOK_ADDRESS = entity_id.long_zero(HOOK_CONTRACT)

_EXCEPTION = "CONTRACT_EXECUTION_EXCEPTION"
# What a transaction that halts ends with, and the name of the reason in its record.
_HALTS = {
    Halt.OUT_OF_GAS: ("INSUFFICIENT_GAS", "INSUFFICIENT_GAS"),
    Halt.STATIC_CHANGE: ("LOCAL_CALL_MODIFICATION_EXCEPTION", "ILLEGAL_STATE_CHANGE"),
    Halt.INVALID_OPCODE: (_EXCEPTION, "INVALID_OPERATION"),
}
_OTHER_HALT = (_EXCEPTION, _EXCEPTION)


class WorldState:
    """The world as the EVM sees it. Of people it has only `accounts`, all that are sent hbars."""

    def __init__(self, world: World, accounts: Iterable[Account]) -> None:
        self._world = world
        self._accounts = {account.address: account for account in accounts}
        # The fees of system contracts have this collector, also where transactions have another one.
        if collector := world.accounts.get(FEE_COLLECTOR):
            self._accounts[collector.address] = collector

    def account(self, address: bytes) -> AccountRecord | None:
        if (token := self._token(address)) is not None:
            code = proxy_code(AccountKind.TOKEN, address)
            return AccountRecord(code=code, kind=AccountKind.TOKEN, entity_id=token.number)
        account = self._holder(address)
        if account is None:
            return None
        contract = self._contract(address)
        return AccountRecord(
            *(account.balance, account.nonce, contract.code if contract else b""),
            kind=AccountKind.CONTRACT if account.is_contract else AccountKind.ACCOUNT,
            entity_id=account.number,
            receiver_signature_required=account.receiver_signature_required,
        )

    def slot(self, address: bytes, slot: int) -> int:
        contract = self._contract(address)
        stored = contract.slots.get(slot) if contract else None
        return stored.value if stored else 0

    def block_hash(self, number: int) -> bytes:
        return bytes(32)

    def number_at(self, address: bytes) -> int | None:
        account = self._holder(address)
        return account.number if account else None

    def _holder(self, address: bytes) -> Account | None:
        account = self._accounts.get(address)
        if account is None:
            number = self._world.contracts.by_address.get(address)
            account = self._world.accounts[number] if number is not None else None
        return account

    def _token(self, address: bytes) -> Token | None:
        return self._world.tokens.issued.get(entity_id.num_of_long_zero(address) or 0)

    def _contract(self, address: bytes) -> Contract | None:
        contracts = self._world.contracts
        return contracts.deployed.get(contracts.by_address.get(address, 0))


class HookState:
    """The storage and code of a hook, at the address of the system contract that runs hooks."""

    def __init__(self, hook: Hook, code: bytes) -> None:
        self._hook, self._code = hook, code

    def account(self, address: bytes) -> AccountRecord | None:
        return AccountRecord(code=self._code) if address == HOOK_ADDRESS else None

    def slot(self, address: bytes, slot: int) -> int:
        stored = self._hook.slots.get(slot.to_bytes(32, "big"))
        return int.from_bytes(stored.value, "big") if stored else 0

    def block_hash(self, number: int) -> bytes:
        return bytes(32)


@dataclass(slots=True)
class Frame:
    """A call or a creation; `has_code` says that its recipient is a contract or token."""

    start: FrameStart
    end: FrameEnd
    has_code: bool

    @property
    def creates(self) -> bool:
        return self.start.operation in ("CREATE", "CREATE2")

    @property
    def error(self) -> str | None:
        """The reason of a halt, as records name it."""
        return _HALTS.get(self.end.halt, _OTHER_HALT)[1] if self.end.halt else None


class _Frames:
    """A tracer of the frames of a call, in the order in which they begin."""

    trace_steps = trace_stack = trace_memory = trace_storage = False

    def __init__(self, state: StateReader) -> None:
        self._state, self._open = state, list[Frame]()
        self.frames = list[Frame]()

    def frame_start(self, start: FrameStart) -> None:
        account = self._state.account(start.code_address)
        has_code = bool(account and account.code) or any(
            frame.creates and frame.start.recipient == start.code_address for frame in self.frames
        )
        unfinished = FrameEnd(start.depth, Status.HALT, Halt.OTHER, b"", 0)
        frame = Frame(start, unfinished, has_code or start.operation in ("CREATE", "CREATE2"))
        self.frames.append(frame)
        self._open.append(frame)

    def step(self, step: Step) -> None:
        pass

    def frame_end(self, end: FrameEnd) -> None:
        self._open.pop().end = end


class Execution(NamedTuple):
    """The outcome of a transaction. `result` is the name of a response code.

    `frames` are in the order in which they began. The `codes` of new contracts, the changed `nonces` of
    contracts, and the `requests` to system contracts are empty after a failure.
    """

    result: str
    call: CallResult
    frames: list[Frame]
    codes: dict[bytes, bytes]
    nonces: dict[bytes, int]
    requests: tuple[SystemCallRequest, ...]

    @property
    def successful(self) -> bool:
        return self.result == "SUCCESS"


def execute(
    request: CallRequest, block: BlockEnvironment, state: StateReader, services: Services | None = None
) -> Execution:
    """Run a transaction. Errors: ValueError for too little gas; InsufficientFunds."""
    tracer = _Frames(state)
    request = request._replace(gas_price=GAS_PRICE)
    call = engine("pyevm").execute(request, block, state, services, tracer)
    if not tracer.frames:
        raise ValueError("the gas of the transaction does not suffice to start it")
    if call.status is Status.SUCCESS:
        result = "SUCCESS"
    elif call.status is Status.REVERT:
        result = "CONTRACT_REVERT_EXECUTED"
    else:
        result = _HALTS.get(call.halt or Halt.OTHER, _OTHER_HALT)[0]
    codes, nonces = _creations(tracer.frames, state)
    return Execution(result, call, tracer.frames, codes, nonces, services.requests() if services else ())


def _creations(frames: list[Frame], state: StateReader) -> tuple[dict[bytes, bytes], dict[bytes, int]]:
    """Return the codes of new contracts, and the nonces that they and their creators have."""
    codes: dict[bytes, bytes] = {}
    nonces: dict[bytes, int] = {}
    failed_depth: int | None = None
    for frame in frames:
        start, end = frame.start, frame.end
        if failed_depth is not None and start.depth > failed_depth:
            continue
        failed_depth = None if end.status is Status.SUCCESS else start.depth
        if not frame.creates:
            continue
        if start.depth:
            creator = state.account(start.sender)
            known = nonces.get(start.sender, creator.nonce if creator else 0)
            nonces[start.sender] = known + 1
        if failed_depth is None:
            codes[start.recipient] = end.output
            nonces.setdefault(start.recipient, 1)
    return codes, nonces
