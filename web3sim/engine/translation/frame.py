"""The frame that translated code runs in, and the way from there to the library's own operations."""

from typing import Any

from eth.exceptions import FullStack
from eth.vm.stack import Stack

from web3sim.engine.computation import EngineComputation

STACK_LIMIT = 1024
# Gas between two checks of the clock: some milliseconds.
PAUSE = 200_000
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

    def __getitem__(self, index: slice) -> bytes:
        return bytes(self.data[index]).ljust(index.stop - index.start, b"\0")


class Frame:
    """A frame of the call while it runs. Of `data` 32 bytes can be read at any offset.

    Below `checkpoint` gas, the clock is checked. The library's computation gets the stack and the
    memory when one of its operations is run for the first time.
    """

    __slots__ = (
        "computation", "message", "raw", "functions", "meter", "stack", "memory", "state", "accounts",
        "storage_address", "data", "size", "static", "checkpoint", "shared", "interpret",
    )  # fmt: skip

    def __init__(self, computation: EngineComputation, program: Any):
        message: Any = computation.msg
        self.computation, self.message = computation, message
        self.raw, self.functions = program.raw, program.instructions.functions
        # Its traces reach it from here: by a name of theirs it would never be freed.
        self.interpret = program.interpret
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


def execute(position: int, frame: Frame, gas: int) -> tuple[int, int]:
    """Run the library's operation at a position; return the next one, and the gas left."""
    computation, meter = frame.computation, frame.meter
    meter.gas_remaining = gas
    frame.share()
    computation.code.program_counter = position + 1
    frame.functions[frame.raw[position]].__call__(computation)
    return computation.code.program_counter, meter.gas_remaining


def push_value(operation: int, frame: Frame) -> int:
    """Return the value that an operation without arguments pushes; its price has been charged."""
    frame.share()
    frame.functions[operation].logic_fn(frame.computation)
    return frame.stack.pop()
