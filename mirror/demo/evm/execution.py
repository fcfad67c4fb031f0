"""Executing contracts of the simulated network: py-evm's Cancun rules with the changes of the network.

Amounts are tinybars where Ethereum has wei. A refund is not limited to a fifth of the gas, and the coinbase
(0.0.98) is not warm from the start.

This executor shares nothing with the engines that simulate calls for clients, which are tested against it.
"""

from dataclasses import dataclass, field
from typing import Any

from eth.exceptions import InvalidInstruction, OutOfGas, Revert, VMError, WriteProtection
from eth.vm.forks.cancun.transaction_context import CancunTransactionContext
from eth.vm.message import Message
from eth_typing import Address

from mirror.demo.evm.state import BlockContext, Computation, Ledger, Slot, State
from mirror.demo.evm.system_contracts import SystemCallRequest

CREATE, CREATE2 = 0xF0, 0xF5

# What a transaction ends with, by the error of its outermost frame; the first that fits counts.
_RESULTS: tuple[tuple[type[VMError], str], ...] = (
    (Revert, "CONTRACT_REVERT_EXECUTED"),
    (OutOfGas, "INSUFFICIENT_GAS"),
    (WriteProtection, "LOCAL_CALL_MODIFICATION_EXCEPTION"),
    (VMError, "CONTRACT_EXECUTION_EXCEPTION"),
)
# The reason of a halt by the name that records use.
_HALTS: tuple[tuple[type[VMError], str], ...] = (
    (OutOfGas, "INSUFFICIENT_GAS"),
    (WriteProtection, "ILLEGAL_STATE_CHANGE"),
    (InvalidInstruction, "INVALID_OPERATION"),
    (VMError, "CONTRACT_EXECUTION_EXCEPTION"),
)

_TRANSACTION = 21_000
_CREATION = 32_000
_ZERO_BYTE, _OTHER_BYTE = 4, 16
_INITCODE_WORD = 2
_NO_ADDRESS = b""


@dataclass(frozen=True, slots=True)
class Request:
    """A transaction. `data` is call data, or the init code of a contract that is created at `created`."""

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
class Frame:
    """A call or a creation. `operation` is the opcode that opened it, `error` the reason of a halt.

    `gas` is its gas limit, without the intrinsic gas of a transaction. `data` is call data or init code. The
    recipient of a creation is the address of the contract, even if it failed.
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
    """The result of a transaction. `result` is the name of a response code.

    `frames` are in the order in which they began, `slots` those that were touched, in that order. `logs`, the
    `codes` of new contracts, changed `balances` and `nonces`, and the `requests` to system contracts are
    empty after a failure.
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
    requests: tuple[SystemCallRequest, ...] = ()

    @property
    def successful(self) -> bool:
        return self.result == "SUCCESS"


def intrinsic_gas(data: bytes, *, creates: bool) -> int:
    """Return the gas that a transaction costs before its first instruction."""
    zeros = data.count(0)
    gas = _TRANSACTION + _ZERO_BYTE * zeros + _OTHER_BYTE * (len(data) - zeros)
    return gas + _CREATION + _initcode_gas(data) if creates else gas


def execute(request: Request, block_context: BlockContext, ledger: Ledger) -> Execution:
    """Run a transaction. Errors: ValueError if its sender can't pay its value, or for too little gas."""
    if ledger.balance(request.sender) < request.value:
        raise ValueError("the sender can't pay the value of the transaction")
    creates = bool(request.created)
    gas = request.gas - intrinsic_gas(request.data, creates=creates)
    if gas < 0:
        raise ValueError("the gas of the transaction does not suffice to start it")
    state = State(ledger, block_context, request.gas)
    ran = _run(state, request, gas, block_context)
    error = ran._error
    gas_left = ran.get_gas_remaining() + (ran.get_gas_refund() if error is None else 0)
    frames: list[Frame] = []
    _add_frames(frames, ran, creates)
    outcome = (ran.output, request.gas - gas_left, tuple(frames), state.slots())
    if error is not None:
        return Execution(_named(error, _RESULTS), *outcome)
    logs = tuple(
        Log(address, tuple(topic.to_bytes(32, "big") for topic in topics), bytes(data))
        for address, topics, data in ran.get_log_entries()
    )
    changed = (state.codes, state.balances, state.nonces, tuple(state.requests.values()))
    return Execution("SUCCESS", *outcome, logs, *changed)


def _run(state: State, request: Request, gas: int, block_context: BlockContext) -> Computation:
    sender, to = Address(request.sender), Address(request.to)
    context = CancunTransactionContext(gas_price=block_context.gas_price, origin=sender)
    state.mark_address_warm(sender)
    ran: Any
    if not request.created:
        state.mark_address_warm(to)
        message = Message(gas, to, sender, request.value, request.data, state.get_code(to))
        ran = Computation.apply_message(state, message, context)
    else:
        created = Address(request.created)
        state.mark_address_warm(created)
        # The frame itself pays for the words of its init code.
        gas += _initcode_gas(request.data)
        message = Message(gas, to, sender, request.value, b"", request.data, create_address=created)
        ran = Computation.apply_create_message(state, message, context)
    executed: Computation = ran
    return executed


def _initcode_gas(initcode: bytes) -> int:
    return _INITCODE_WORD * ((len(initcode) + 31) // 32)


def _named(error: VMError, names: tuple[tuple[type[VMError], str], ...]) -> str:
    return next(name for kind, name in names if isinstance(error, kind))


def _add_frames(frames: list[Frame], ran: Computation, outermost_creates: bool) -> None:
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
            error=None if error is None or reverted else _named(error, _HALTS),
            recipient_is_contract=bool(message.code),
        )
    )
    for child in ran.children:
        _add_frames(frames, child, outermost_creates=False)
