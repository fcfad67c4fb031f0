"""One frame of a call on Cancun rules, as the engine here runs it.

Only the necessary parts of the library's computation are replaced: finished frames leave only their logs,
refunds and deletions to the frame above; the deadline is checked; a tracer is called.
"""

from types import TracebackType
from typing import Any

from eth import constants
from eth.abc import ComputationAPI, MessageAPI, OpcodeAPI, StateAPI, TransactionContextAPI
from eth.exceptions import Halt, InvalidInstruction, Revert, VMError
from eth.vm import mnemonics, opcode_values
from eth.vm.forks.byzantium.opcodes import ensure_no_static
from eth.vm.forks.cancun.computation import CancunComputation
from eth.vm.forks.cancun.logic import selfdestruct_eip6780
from eth.vm.forks.cancun.opcodes import CANCUN_OPCODES
from eth.vm.forks.london.computation import LondonComputation
from eth.vm.forks.shanghai.constants import MAX_INITCODE_SIZE
from eth.vm.forks.spurious_dragon.constants import EIP170_CODE_SIZE_LIMIT
from eth.vm.forks.tangerine_whistle.constants import GAS_SELFDESTRUCT_EIP150
from eth.vm.gas_meter import GasMeter, allow_negative_refund_strategy
from eth.vm.memory import Memory
from eth.vm.opcode import as_opcode
from eth.vm.stack import Stack
from eth_typing import Address

from mirror.core.values.hashes import keccak256
from web3sim.engine import interface
from web3sim.engine.code import Code
from web3sim.engine.halts import ExceptionalHalt, get_halt
from web3sim.engine.precompiles import PRECOMPILES
from web3sim.engine.state import EngineState
from web3sim.engine.tracing import Sampler, run_traced

# An operation takes 1 to 200 microseconds.
OPERATIONS_PER_DEADLINE_CHECK = 2_000


class Meter(GasMeter):
    """The library's gas meter without its checks. Refunds may be negative (EIP-1283)."""

    def __init__(self, gas: int) -> None:
        self.start_gas = self.gas_remaining = gas
        self.gas_refunded = 0
        self.refund_strategy = allow_negative_refund_strategy


def _sha3(computation: ComputationAPI) -> None:
    start, size = computation.stack_pop_ints(2)
    computation.extend_memory(start, size)
    computation.consume_gas(constants.GAS_SHA3WORD * ((size + 31) // 32), mnemonics.SHA3)
    computation.stack_push_bytes(keccak256(computation.memory_read_bytes(start, size)))


class EngineComputation(CancunComputation):
    """Plain Cancun."""

    # The library's SELFDESTRUCT warns of its own deprecation each time, and its SHA3 hashes slowly.
    opcodes: dict[int, OpcodeAPI] = CANCUN_OPCODES | {
        opcode_values.SHA3: as_opcode(_sha3, mnemonics.SHA3, constants.GAS_SHA3),
        opcode_values.SELFDESTRUCT: as_opcode(
            logic_fn=ensure_no_static(selfdestruct_eip6780),
            mnemonic=mnemonics.SELFDESTRUCT,
            gas_cost=GAS_SELFDESTRUCT_EIP150,
        ),
    }
    _precompiles: Any = PRECOMPILES
    state_class: type[EngineState] = EngineState

    state: EngineState
    # Only while a tracer traces steps.
    sampler: Sampler
    # The frame that opened this one; None for the outermost.
    parent: "EngineComputation | None" = None

    def __init__(
        self, state: StateAPI, message: MessageAPI, transaction_context: TransactionContextAPI
    ) -> None:
        # Not the library's constructors: they make what most frames don't need, check what is known, and warm
        # the coinbase each time, which a ledger doesn't warm at all.
        self.state, self.msg, self.transaction_context = state, message, transaction_context  # type: ignore[assignment]
        self._gas_meter = Meter(message.gas)
        self.children, self.accounts_to_delete, self.beneficiaries = [], [], []
        self._log_entries = []
        self.data_floor_cost = 0
        self.contracts_created = self.state.created
        self._refunds_of_children = 0

    def equip(self, stack: Stack, memory: bytearray) -> None:
        """Have what the library's operations work on."""
        self.code, self._stack, self._memory = Code(self.msg.code), stack, Memory()
        self._memory._bytes = memory

    # RUNNING

    @classmethod
    def apply_computation(
        cls,
        state: StateAPI,
        message: MessageAPI,
        transaction_context: TransactionContextAPI,
        parent_computation: ComputationAPI | None = None,
    ) -> ComputationAPI:
        computation = cls(state, message, transaction_context)
        computation.parent = parent_computation  # type: ignore[assignment]
        computation.state.check_deadline()
        with computation:
            if message.is_create:
                computation.contracts_created.append(message.storage_address)
            if not computation.run_precompiled():
                computation.run_code()
        return computation

    def run_precompiled(self) -> bool:
        """Run the precompiled contract at the code address; False when none is there."""
        precompile = None if self.msg.is_create else self.precompiles.get(self.msg.code_address)
        if precompile is None:
            return False
        precompile(self)
        return True

    def run_code(self) -> None:
        """Execute operations until one ends the frame. Errors: VMError, DeadlinePassed."""
        self.equip(Stack(), bytearray())
        if self.state.tracer is not None and self.state.tracer.trace_steps:
            self.sampler = Sampler(self, self.state, self.state.tracer)
            run_traced(self, self.state, self.sampler)
            return
        opcodes = self.opcodes
        operations = OPERATIONS_PER_DEADLINE_CHECK
        try:
            for opcode in self.code:
                try:
                    operation = opcodes[opcode]
                except KeyError:
                    raise InvalidInstruction(f"There is no operation 0x{opcode:02x}.") from None
                # A call of the object counts as recursion in C, of which Python 3.12 allows 1,500 levels.
                operation.__call__(computation=self)
                operations -= 1
                if not operations:
                    self.state.check_deadline()
                    operations = OPERATIONS_PER_DEADLINE_CHECK
        except Halt:
            pass

    def __exit__(
        self,
        exc_type: type[BaseException] | None,
        exc_value: BaseException | None,
        traceback: TracebackType | None,
    ) -> bool | None:
        handled = super().__exit__(exc_type, exc_value, traceback)
        if isinstance(exc_value, VMError):
            # It refers to this frame, whose memory would stay until a garbage collection.
            exc_value.__traceback__ = exc_value.__context__ = None
        return handled

    def memory_read_bytes(self, start_position: int, size: int) -> bytes:
        """Copied once, not twice as the library does: call data may be megabytes."""
        with self._memory.read(start_position, size) as view:
            return bytes(view)

    # FRAMES

    @classmethod
    def run(
        cls,
        state: EngineState,
        message: MessageAPI,
        transaction_context: TransactionContextAPI,
        parent: ComputationAPI | None = None,
    ) -> "EngineComputation":
        """A whole frame with its transfer, and the code deposit of a creation. Errors: VMError for a creation
        that doesn't even begin."""
        apply = cls.apply_create_message if message.is_create else cls.apply_message
        tracer = state.tracer
        if tracer is None:
            return apply(state, message, transaction_context, parent)  # type: ignore[return-value]
        if isinstance(parent, EngineComputation):
            if tracer.trace_steps:
                parent.sampler.opens_frame(message)
            else:
                opcode = parent.code[parent.code.program_counter - 1]
                state.opening_operation = cls.opcodes[opcode].mnemonic
        tracer.frame_start(cls.frame_start(state, message))
        try:
            frame: EngineComputation = apply(state, message, transaction_context, parent)  # type: ignore[assignment]
        except VMError as error:
            tracer.frame_end(
                interface.FrameEnd(message.depth, interface.Status.HALT, get_halt(error), b"", message.gas)
            )
            raise
        status, halt = frame.status()
        tracer.frame_end(
            interface.FrameEnd(message.depth, status, halt, frame.result_data(), frame.get_gas_used())
        )
        return frame

    @classmethod
    def frame_start(cls, state: EngineState, message: MessageAPI) -> interface.FrameStart:
        return interface.FrameStart(
            depth=message.depth,
            operation=state.opening_operation,
            sender=message.sender,
            recipient=message.storage_address,
            code_address=message.storage_address if message.is_create else message.code_address,
            value=message.value,
            gas=message.gas,
            data=message.code if message.is_create else message.data_as_bytes,
            precompile=not message.is_create and cls.is_precompiled(state, message.code_address),
        )

    @classmethod
    def is_precompiled(cls, state: EngineState, address: Address) -> bool:
        return address in cls.get_precompiles()

    def status(self) -> tuple[interface.Status, interface.Halt | None]:
        if self.is_success:
            return interface.Status.SUCCESS, None
        if isinstance(self.error, Revert):
            return interface.Status.REVERT, None
        return interface.Status.HALT, get_halt(self.error)

    def result_data(self) -> bytes:
        """Return the data that the frame returned or reverted with; nothing after a halt."""
        return self.output

    def generate_child_computation(self, child_msg: MessageAPI) -> ComputationAPI:
        return self.run(self.state, child_msg, self.transaction_context, self)

    def add_child_computation(self, child_computation: ComputationAPI) -> None:
        """Take over the results of a finished frame; the frame itself is freed."""
        child: Any = child_computation
        failed = child.is_error
        # Of a creation only its revert data.
        self.return_data = b"" if child.msg.is_create and not failed else child.output
        if failed:
            return
        self._refunds_of_children += child.get_gas_refund()
        # They are in the order in which they happened, behind what this frame logged before.
        self._log_entries += child._log_entries
        for address in child.accounts_to_delete:
            self._delete_later(address)

    def get_gas_refund(self) -> int:
        return 0 if self.is_error else self._gas_meter.gas_refunded + self._refunds_of_children

    def register_account_for_deletion(self, beneficiary: Address) -> None:
        """A frame called by this one may have registered the same contract; the library expects one only."""
        self._delete_later(self.msg.storage_address)
        self.beneficiaries.append(beneficiary)

    # Children are not stored: a frame has everything, in the order it happened.

    def get_raw_log_entries(self) -> tuple[tuple[int, bytes, tuple[int, ...], bytes], ...]:
        return () if self.is_error else tuple(sorted(self._log_entries))

    def get_accounts_for_deletion(self) -> list[Address]:
        return [] if self.is_error else list(self.accounts_to_delete)

    def _delete_later(self, address: Address) -> None:
        if address not in self.accounts_to_delete:
            self.accounts_to_delete.append(address)

    # LIMITS: errors of their own, since the library's would be out of gas

    @classmethod
    def validate_create_message(cls, message: MessageAPI) -> None:
        if len(message.code) > MAX_INITCODE_SIZE:
            raise ExceptionalHalt(interface.Halt.CODE_SIZE_LIMIT)

    @classmethod
    def validate_contract_code(cls, contract_code: bytes) -> None:
        if len(contract_code) > EIP170_CODE_SIZE_LIMIT:
            raise ExceptionalHalt(interface.Halt.CODE_SIZE_LIMIT)
        LondonComputation.validate_contract_code(contract_code)
