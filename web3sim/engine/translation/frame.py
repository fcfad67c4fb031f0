"""The frame that translated code runs in, and the way from there to the library's own operations."""

from typing import Any, Protocol

from eth.exceptions import FullStack
from eth.vm import opcode_values as op
from eth.vm.stack import Stack

from web3sim.engine.computation import EngineComputation
from web3sim.engine.state import EngineState
from web3sim.engine.translation.operations import Instructions

STACK_LIMIT = 1024
# Gas between two checks of the clock: some milliseconds.
PAUSE = 200_000
# Interpreted operations between two checks.
_BATCH = range(256)
# Call data below so many bytes is copied, with zeros behind it.
_COPIED, _PADDING = 1_024, bytes(32)


class IntegerStack(Stack):
    """A stack of ints alone, where the library's also has bytes."""

    def __init__(self, values: list[Any]) -> None:
        super().__init__()
        # As the library's constructor, on values that are there already.
        self.values = values
        self._append, self._pop, self.__len__ = values.append, values.pop, values.__len__

    def push_bytes(self, value: bytes) -> None:
        if len(self.values) >= STACK_LIMIT:
            raise FullStack("Stack limit reached")
        self.values.append(int.from_bytes(value))


class LongData:
    """Call data that isn't copied: zeros follow it."""

    __slots__ = ("data",)

    def __init__(self, data: Any) -> None:
        self.data = data

    def __getitem__(self, place: slice) -> bytes:
        return bytes(self.data[place]).ljust(place.stop - place.start, b"\0")


class RunningProgram(Protocol):
    """The translated code of a frame, as far as the frame and the operations called from it use it."""

    raw: bytes
    instructions: Instructions
    #: Conditional jump -> whether it was taken last.
    taken: dict[int, bool]

    def __contains__(self, position: object, /) -> bool:
        """Return whether translated code begins at a position."""

    def due(self, position: int, state: EngineState) -> bool:
        """Return whether code should be translated at a position now; otherwise note the arrival there."""


class Frame:
    """A frame of the call while it runs. Of `data` 32 bytes can be read at any offset.

    Below `checkpoint` gas, the clock is checked. The library's computation gets the stack and the
    memory when one of its operations is run for the first time.
    """

    __slots__ = (
        "computation", "message", "program", "meter", "stack", "memory", "state", "accounts",
        "storage_address", "data", "size", "static", "checkpoint", "shared",
    )  # fmt: skip

    def __init__(self, computation: EngineComputation, program: RunningProgram):
        message: Any = computation.msg
        self.computation, self.message, self.program = computation, message, program
        self.meter = computation._gas_meter
        self.stack: list[int] = []
        self.memory = bytearray()
        self.shared = False
        self.state = computation.state
        self.accounts = computation.state.accounts
        self.storage_address, self.static = message.storage_address, message.is_static
        data = message.data
        self.size = len(data)
        self.data: Any = data + _PADDING if self.size < _COPIED else LongData(data)
        self.checkpoint = message.gas - PAUSE

    def share(self) -> None:
        """Give the library's operations the stack and the memory."""
        if not self.shared:
            self.computation.equip(IntegerStack(self.stack), self.memory)
            self.shared = True

    def pause(self, gas: int) -> None:
        """Check the clock. Errors: DeadlinePassed."""
        self.checkpoint = gas - PAUSE
        self.state.check_deadline()


# THE LIBRARY'S OWN OPERATIONS


def interpret(position: int, stack: list[int], memory: bytearray, gas: int, frame: Frame) -> tuple[int, int]:
    """Run the library's operations from a position until a jump leads to a trace, or to where one is due.

    Notes where jumps arrived, and which way those went that have two.
    """
    computation, program, meter, state = frame.computation, frame.program, frame.meter, frame.state
    meter.gas_remaining = gas
    frame.share()
    raw, functions, code = program.raw, program.instructions.functions, computation.code
    while True:
        for done in _BATCH:
            try:
                operation = raw[position]
            except IndexError:
                return -1, meter.gas_remaining
            code.program_counter = position + 1
            functions[operation](computation)
            if operation & 0xFE != op.JUMP:
                position = code.program_counter
                continue
            following = code.program_counter
            if operation == op.JUMPI:
                taken = program.taken[position] = following != position + 1
                if not taken:
                    position = following
                    continue
            position = following
            if position in program or program.due(position, state):
                state.translatable += done
                return position, meter.gas_remaining
        state.translatable += len(_BATCH)
        state.check_deadline()


def execute(position: int, frame: Frame, gas: int) -> tuple[int, int]:
    """Run the library's operation at a position: one that calls, creates, or reads other accounts."""
    program, meter = frame.program, frame.meter
    meter.gas_remaining = gas
    frame.share()
    frame.computation.code.program_counter = position + 1
    program.instructions.functions[program.raw[position]](frame.computation)
    return position + 1, meter.gas_remaining


def push_value(operation: int, frame: Frame) -> int:
    """Return the value that an operation without arguments pushes; its price has been charged."""
    frame.share()
    frame.program.instructions.functions[operation].logic_fn(frame.computation)
    return frame.stack.pop()
