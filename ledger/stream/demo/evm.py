"""Executing contracts of the simulated network: py-evm's Cancun rules with what a ledger network changes.

Amounts are tinybars where Ethereum has wei. What the network changes: a refund is not limited to a fifth of
the gas, and the coinbase (0.0.98) is not warm from the start.

This executor shares nothing with the one that simulates calls for clients: what happens here is what the
other is measured by.
"""

from dataclasses import dataclass, field
from typing import Any, Protocol

from eth.exceptions import InvalidInstruction, OutOfGas, Revert, VMError, WriteProtection
from eth.vm.execution_context import ExecutionContext
from eth.vm.forks.cancun.computation import CancunComputation
from eth.vm.forks.cancun.state import CancunState
from eth.vm.forks.cancun.transaction_context import CancunTransactionContext
from eth.vm.forks.shanghai.computation import ShanghaiComputation
from eth.vm.message import Message
from eth_typing import Address, BlockNumber, Hash32

from ledger.stream.compose import FEE_COLLECTOR
from mirror.values import entity_id
from mirror.values.hashes import keccak256

CHAIN_ID = 298
CALL, CREATE, CREATE2 = 0xF1, 0xF0, 0xF5

_TRANSACTION = 21_000
_CREATION = 32_000
_ZERO_BYTE, _OTHER_BYTE = 4, 16
_INITCODE_WORD = 2
_NO_ADDRESS = b""
_MISSING: Any = object()


class Ledger(Protocol):
    """The state before a transaction; an address where nothing lives has 0 and no code."""

    def balance(self, address: bytes) -> int: ...
    def nonce(self, address: bytes) -> int: ...
    def code(self, address: bytes) -> bytes: ...
    def slot(self, address: bytes, slot: int) -> int: ...


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the chain a transaction runs. `timestamp` is the second the block began."""

    block_number: int
    timestamp: int
    gas_price: int


@dataclass(frozen=True, slots=True)
class Request:
    """`data` is call data, or the init code of a creation: of what will live at `created`."""

    sender: bytes
    data: bytes
    gas: int
    value: int = 0
    to: bytes = _NO_ADDRESS
    created: bytes = _NO_ADDRESS


@dataclass(frozen=True, slots=True)
class Log:
    address: bytes
    topics: tuple[bytes, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Slot:
    """A storage slot that was touched: its value before, and what was written if anything was."""

    read: int
    written: int | None


@dataclass(frozen=True, slots=True)
class Frame:
    """One call or creation. `operation` is the opcode it came of, `error` why it halted.

    `gas` is what it was given, without what a transaction costs before its first instruction. `data` is call
    data or init code. The recipient of a creation is where the contract lives, or would have.
    """

    operation: int
    depth: int
    caller: bytes
    recipient: bytes
    value: int
    gas: int
    gas_used: int
    data: bytes
    output: bytes
    reverted: bool
    error: str | None
    recipient_is_contract: bool

    @property
    def creates(self) -> bool:
        return self.operation in (CREATE, CREATE2)


@dataclass(frozen=True, slots=True)
class Execution:
    """What came of a transaction. `result` is a response code name.

    `gas_used` is all that is paid for. `frames` are in the order they began. `slots` are those touched, first
    ones first; without a success nothing of them was written, and there is nothing in `logs`, `codes`,
    `balances` and `nonces`: new code, in the order of creation, and changed balances and nonces.
    """

    result: str
    output: bytes
    gas_used: int
    frames: tuple[Frame, ...]
    slots: dict[bytes, dict[int, Slot]]
    logs: tuple[Log, ...] = ()
    codes: dict[bytes, bytes] = field(default_factory=dict)
    balances: dict[bytes, int] = field(default_factory=dict)
    nonces: dict[bytes, int] = field(default_factory=dict)

    @property
    def successful(self) -> bool:
        return self.result == "SUCCESS"


def intrinsic_gas(data: bytes, *, creates: bool) -> int:
    """What a transaction costs before its first instruction."""
    zeros = data.count(0)
    gas = _TRANSACTION + _ZERO_BYTE * zeros + _OTHER_BYTE * (len(data) - zeros)
    return gas + _CREATION + _initcode_gas(data) if creates else gas


def execute(request: Request, place: Place, ledger: Ledger) -> Execution:
    """Run a transaction. Errors: ValueError if its sender can't pay its value, or its gas not its start."""
    if ledger.balance(request.sender) < request.value:
        raise ValueError("the sender can't pay the value of the transaction")
    creates = bool(request.created)
    gas = request.gas - intrinsic_gas(request.data, creates=creates)
    if gas < 0:
        raise ValueError("the gas of the transaction does not suffice to start it")
    state = _State(ledger, place, request.gas)
    ran = _run(state, request, gas, place)
    error = ran._error
    left = ran.get_gas_remaining() + (ran.get_gas_refund() if error is None else 0)
    frames: list[Frame] = []
    _add_frames(frames, ran, creates)
    if error is not None:
        return Execution(_result(error), ran.output, request.gas - left, tuple(frames), state.slots())
    logs = tuple(
        Log(address, tuple(topic.to_bytes(32, "big") for topic in topics), bytes(data))
        for address, topics, data in ran.get_log_entries()
    )
    return Execution(
        "SUCCESS",
        ran.output,
        request.gas - left,
        tuple(frames),
        state.slots(),
        logs,
        state.codes,
        state.balances,
        state.nonces,
    )


def _run(state: "_State", request: Request, gas: int, place: Place) -> "_Computation":
    sender, to = Address(request.sender), Address(request.to)
    context = CancunTransactionContext(gas_price=place.gas_price, origin=sender)
    state.mark_address_warm(sender)
    ran: Any
    if not request.created:
        state.mark_address_warm(to)
        message = Message(gas, to, sender, request.value, request.data, state.get_code(to))
        ran = _Computation.apply_message(state, message, context)
    else:
        created = Address(request.created)
        state.mark_address_warm(created)
        # The frame itself pays for the words of its init code.
        gas += _initcode_gas(request.data)
        message = Message(gas, to, sender, request.value, b"", request.data, create_address=created)
        ran = _Computation.apply_create_message(state, message, context)
    executed: _Computation = ran
    return executed


def _initcode_gas(initcode: bytes) -> int:
    return _INITCODE_WORD * ((len(initcode) + 31) // 32)


def _result(error: VMError) -> str:
    if isinstance(error, Revert):
        return "CONTRACT_REVERT_EXECUTED"
    if isinstance(error, OutOfGas):
        return "INSUFFICIENT_GAS"
    if isinstance(error, WriteProtection):
        return "LOCAL_CALL_MODIFICATION_EXCEPTION"
    return "CONTRACT_EXECUTION_EXCEPTION"


def _halt(error: VMError) -> str:
    """Why a frame halted, by the name records use."""
    if isinstance(error, OutOfGas):
        return "INSUFFICIENT_GAS"
    if isinstance(error, WriteProtection):
        return "ILLEGAL_STATE_CHANGE"
    if isinstance(error, InvalidInstruction):
        return "INVALID_OPERATION"
    return "CONTRACT_EXECUTION_EXCEPTION"


def _add_frames(frames: list[Frame], ran: "_Computation", outermost_creates: bool) -> None:
    message, error = ran.msg, ran._error
    reverted = isinstance(error, Revert)
    before = _initcode_gas(message.code) if outermost_creates else 0
    frames.append(
        Frame(
            operation=CREATE if outermost_creates else ran.operation,
            depth=message.depth,
            caller=message.sender,
            recipient=message.storage_address if message.is_create else message.code_address,
            value=message.value if message.should_transfer_value else 0,
            gas=message.gas - before,
            gas_used=ran.get_gas_used() - before,
            data=message.code if message.is_create else bytes(message.data),
            output=b"" if message.is_create and error is None else ran.output,
            reverted=reverted,
            error=None if error is None or reverted else _halt(error),
            recipient_is_contract=bool(message.code),
        )
    )
    for child in ran.children:
        _add_frames(frames, child, outermost_creates=False)


class _Computation(CancunComputation):
    # What opened the frame; the outermost one is opened as by a CALL.
    operation = CALL
    children: list[Any]

    def __init__(self, *given: Any) -> None:
        # Past the constructor that warms the coinbase.
        super(ShanghaiComputation, self).__init__(*given)

    def apply_child_computation(self, child_msg: Any) -> Any:
        operation = self.code[self.code.program_counter - 1]
        child: Any = super().apply_child_computation(child_msg)
        child.operation = operation
        return child


class _State(CancunState):
    """What a transaction sees: the ledger, and above it what it has written, undone by a list of writes."""

    computation_class: Any = _Computation

    def __init__(self, ledger: Ledger, place: Place, gas_limit: int) -> None:
        self.execution_context = ExecutionContext(
            coinbase=Address(entity_id.long_zero(FEE_COLLECTOR)),
            timestamp=place.timestamp,
            block_number=BlockNumber(place.block_number),
            difficulty=0,
            mix_hash=Hash32(bytes(32)),
            gas_limit=gas_limit,
            prev_hashes=(),
            chain_id=CHAIN_ID,
            base_fee_per_gas=0,
            excess_blob_gas=0,
        )
        self._ledger = ledger
        self._undo: list[tuple[dict[Any, Any], Any, Any]] = []
        self.balances: dict[bytes, int] = {}
        self.nonces: dict[bytes, int] = {}
        self.codes: dict[bytes, bytes] = {}
        self._written: dict[tuple[bytes, int], int] = {}
        self._original: dict[tuple[bytes, int], int] = {}
        self._transient: dict[tuple[bytes, int], bytes] = {}
        self._warm: dict[Any, bool] = {}

    def slots(self) -> dict[bytes, dict[int, Slot]]:
        """By address, what was touched."""
        touched: dict[bytes, dict[int, Slot]] = {}
        for (address, slot), read in self._original.items():
            touched.setdefault(address, {})[slot] = Slot(read, self._written.get((address, slot)))
        return touched

    # SNAPSHOTS

    def snapshot(self) -> Any:
        return len(self._undo)

    def commit(self, snapshot: Any) -> None:
        pass

    def revert(self, snapshot: Any) -> None:
        while len(self._undo) > snapshot:
            held, key, before = self._undo.pop()
            if before is _MISSING:
                del held[key]
            else:
                held[key] = before

    def _set(self, held: dict[Any, Any], key: Any, value: Any) -> None:
        self._undo.append((held, key, held.get(key, _MISSING)))
        held[key] = value

    # ACCOUNTS

    def get_balance(self, address: bytes) -> int:
        balance = self.balances.get(address)
        return self._ledger.balance(address) if balance is None else balance

    def set_balance(self, address: bytes, balance: int) -> None:
        self._set(self.balances, address, balance)

    def get_nonce(self, address: bytes) -> int:
        nonce = self.nonces.get(address)
        return self._ledger.nonce(address) if nonce is None else nonce

    def set_nonce(self, address: bytes, nonce: int) -> None:
        self._set(self.nonces, address, nonce)

    def increment_nonce(self, address: bytes) -> None:
        self.set_nonce(address, self.get_nonce(address) + 1)

    def get_code(self, address: bytes) -> bytes:
        code = self.codes.get(address)
        return self._ledger.code(address) if code is None else code

    def set_code(self, address: bytes, code: bytes) -> None:
        self._set(self.codes, address, code)

    def get_code_hash(self, address: bytes) -> Any:
        return keccak256(self.get_code(address))

    def has_code_or_nonce(self, address: bytes) -> bool:
        return bool(self.get_nonce(address) or self.get_code(address))

    def account_exists(self, address: bytes) -> bool:
        return not self.account_is_empty(address)

    def account_is_empty(self, address: bytes) -> bool:
        return not (self.get_balance(address) or self.has_code_or_nonce(address))

    def touch_account(self, address: bytes) -> None:
        pass

    def delete_storage(self, address: bytes) -> None:
        """Nothing: contracts of the simulated network are created where there never was one."""

    # STORAGE

    def get_storage(self, address: bytes, slot: int, from_journal: bool = True) -> int:
        key = (address, slot)
        if from_journal:
            written = self._written.get(key)
            if written is not None:
                return written
        original = self._original.get(key)
        if original is None:
            original = self._original[key] = self._ledger.slot(address, slot)
        return original

    def set_storage(self, address: bytes, slot: int, value: int) -> None:
        self._set(self._written, (address, slot), value)

    def get_transient_storage(self, address: bytes, slot: int) -> bytes:
        return self._transient.get((address, slot), b"")

    def set_transient_storage(self, address: bytes, slot: int, value: bytes) -> None:
        self._set(self._transient, (address, slot), value)

    # WARMTH (EIP-2929)

    def is_address_warm(self, address: bytes) -> bool:
        return address in self._warm or address in _Computation._precompiles

    def mark_address_warm(self, address: bytes) -> None:
        self._set(self._warm, address, True)

    def is_storage_warm(self, address: bytes, slot: int) -> bool:
        return (address, slot) in self._warm

    def mark_storage_warm(self, address: bytes, slot: int) -> None:
        self._set(self._warm, (address, slot), True)
