"""The frame that translated code runs in, and the way from there to the library's own operations."""

from typing import TYPE_CHECKING, Any

from eth.exceptions import FullStack
from eth.vm import opcode_values as op
from eth.vm.logic.invalid import InvalidOpcode
from eth.vm.stack import Stack

if TYPE_CHECKING:
    from web3sim.engine.computation import EngineComputation
    from web3sim.engine.translation_programs import Program

STACK_LIMIT = 1024
# Gas between two looks at the clock: some milliseconds.
PAUSE = 200_000


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


class Frame:
    """A frame of the call while it runs. `data` is padded: 32 bytes can be read at any offset inside.

    Below `checkpoint` gas, the clock is looked at. The library's computation gets to see the stack when one
    of its operations is run for the first time.
    """

    __slots__ = (
        "computation", "message", "program", "meter", "stack", "memory", "accounts", "storage_address",
        "data", "size", "static", "checkpoint", "shared",
    )  # fmt: skip

    def __init__(self, computation: "EngineComputation", program: "Program"):
        message: Any = computation.msg
        memory: Any = computation._memory
        self.computation, self.message, self.program = computation, message, program
        self.meter = computation._gas_meter
        self.stack: list[int] = []
        self.shared = False
        self.memory: bytearray = memory._bytes
        self.accounts = computation.state.accounts
        self.storage_address, self.static = message.storage_address, message.is_static
        data = message.data_as_bytes
        self.data, self.size = data + bytes(32), len(data)
        self.checkpoint = message.gas + 1

    def share(self) -> None:
        """Give the library's operations the stack."""
        if not self.shared:
            self.computation._stack = IntegerStack(self.stack)
            self.shared = True

    def pause(self, gas: int) -> None:
        """Look at the clock. Errors: DeadlinePassed."""
        self.checkpoint = gas - PAUSE
        self.computation.state.check_deadline()


# THE LIBRARY'S OWN OPERATIONS


def interpret(position: int, stack: list[int], memory: bytearray, gas: int, frame: Frame) -> tuple[int, int]:
    """Run the library's operations from a position until a jump is taken; note which way the others went."""
    computation, program, meter = frame.computation, frame.program, frame.meter
    raw, table, code = program.raw, program.instructions.table, computation.code
    meter.gas_remaining = gas
    frame.share()
    while position < len(raw):
        operation = raw[position]
        code.program_counter = position + 1
        function = table.get(operation) or InvalidOpcode(operation)
        function(computation=computation)
        following = code.program_counter
        if operation == op.JUMPI:
            program.taken[position] = following != position + 1
        if operation == op.JUMP or (operation == op.JUMPI and following != position + 1):
            return following, meter.gas_remaining
        position = following
    return -1, meter.gas_remaining


def execute(position: int, frame: Frame, gas: int) -> tuple[int, int]:
    """Run the library's operation at a position: one that calls, creates, or looks at other accounts."""
    program, meter = frame.program, frame.meter
    meter.gas_remaining = gas
    frame.share()
    frame.computation.code.program_counter = position + 1
    program.instructions.table[program.raw[position]](computation=frame.computation)
    return position + 1, meter.gas_remaining


def ask(operation: int, frame: Frame) -> int:
    """What an operation without arguments pushes; its price has been charged."""
    frame.share()
    frame.program.instructions.table[operation].logic_fn(frame.computation)
    return frame.stack.pop()
