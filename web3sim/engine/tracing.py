"""The steps of a tracer, one for each executed operation."""

from collections.abc import Mapping, Sequence

from eth.abc import MessageAPI
from eth.exceptions import Halt, InvalidInstruction, Revert, VMError
from eth.vm import mnemonics
from eth.vm.computation import BaseComputation
from eth.vm.logic.invalid import InvalidOpcode
from eth.vm.stack import to_int

from web3sim.engine.interface import Step, Tracer
from web3sim.engine.state import EngineState

_WORD = 32
# The gas that a call with value passes on for free.
_STIPEND = 2_300


class Sampler:
    """Samples the operations of one frame."""

    def __init__(self, computation: BaseComputation, state: EngineState, tracer: Tracer) -> None:
        self._computation, self._state, self._tracer = computation, state, tracer
        self._meter = computation.get_gas_meter()
        self._pending = self._opened = False
        state.slots_so_far = None

    def begin(self, pc: int, operation: str) -> None:
        """An operation is about to run."""
        self._pc, self._operation, self._gas = pc, operation, self._meter.gas_remaining
        self._pending = True
        self._state.opening_operation = operation
        if self._opened or operation == mnemonics.SSTORE:
            # A frame that ended may have reverted what it wrote.
            self._state.slots_so_far, self._opened = None, False

    def opens_frame(self, message: MessageAPI) -> None:
        """The operation has paid for a frame, which is next."""
        self._opened = True
        with_stipend = self._operation in (mnemonics.CALL, mnemonics.CALLCODE) and message.value
        self._sample(passed_on=message.gas - (_STIPEND if with_stipend else 0), depth=message.depth)

    def end(self, reason: bytes | None = None) -> None:
        """The operation ran, or failed."""
        if self._pending:
            self._sample(reason=reason, depth=self._computation.msg.depth)

    def _sample(self, *, depth: int, passed_on: int = 0, reason: bytes | None = None) -> None:
        self._pending = False
        gas = self._meter.gas_remaining
        self._tracer.step(
            Step(
                pc=self._pc,
                op=self._operation,
                gas=gas,
                gas_cost=self._gas - gas - passed_on,
                depth=depth,
                stack=self._stack(),
                memory=self._memory(),
                storage=self._storage(),
                reason=reason,
            )
        )

    def _stack(self) -> Sequence[int]:
        if not self._tracer.trace_stack:
            return ()
        return [to_int(value) for value in self._computation._stack.values]  # type: ignore[attr-defined]

    def _memory(self) -> Sequence[bytes]:
        if not self._tracer.trace_memory:
            return ()
        memory = self._computation.memory_read_bytes(0, len(self._computation._memory))
        return [memory[start : start + _WORD] for start in range(0, len(memory), _WORD)]

    def _storage(self) -> Mapping[int, int]:
        if not self._tracer.trace_storage:
            return {}
        if self._state.slots_so_far is None:
            self._state.slots_so_far = self._state.accounts.slots_so_far()
        return self._state.slots_so_far


def run_traced(computation: BaseComputation, state: EngineState, sampler: Sampler) -> None:
    """Execute operations until one ends the frame. Errors: VMError, DeadlinePassed."""
    opcodes, code = computation.opcodes, computation.code
    pc = 0
    for opcode in code:
        operation = opcodes.get(opcode)
        sampler.begin(pc, operation.mnemonic if operation else InvalidOpcode.mnemonic)
        state.check_deadline()
        try:
            if operation is None:
                raise InvalidInstruction(f"There is no operation 0x{opcode:02x}.")
            operation.__call__(computation=computation)
        except Halt:
            sampler.end()
            return
        except Revert:
            sampler.end(computation.output)
            raise
        except VMError:
            sampler.end()
            raise
        sampler.end()
        # The end of code acts as a STOP that is not in it, so the next position is known only now.
        pc = min(code.program_counter, len(code))
