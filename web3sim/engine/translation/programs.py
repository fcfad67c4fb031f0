"""Programs: codes that are translated while they run, and their cache.

A position is interpreted for its first few arrivals, block by block, which also shows which way its jumps
go; then its trace is translated. So code that runs once costs little, and what an attacker can have
translated is bounded by the gas of the arrivals, by the size of his code, and for each call by how much of it
was interpreted.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property, partial
from itertools import compress
from typing import Any, NoReturn

from eth.exceptions import Halt, InvalidJumpDestination
from eth.vm import opcode_values as op

from web3sim.engine.code import jump_destinations
from web3sim.engine.state import EngineState
from web3sim.engine.translation.code_blocks import CodeBlock, block_at
from web3sim.engine.translation.frame import Frame, execute
from web3sim.engine.translation.instructions import Instructions
from web3sim.engine.translation.runtime import NAMES
from web3sim.engine.translation.source import CodeProfile, trace_source

Trace = Callable[[list[int], bytearray, int, Frame], tuple[int, int]]

# Arrivals that are interpreted: translating a trace takes about as long as so many runs.
ARRIVALS = 8
# How many characters of a program may be translated: these, and so many per byte of its code. All traces of
# what a Solidity compiler makes are 20 to 30 per byte; short ones of any code are hardly more.
CHARACTERS, CHARACTERS_PER_BYTE = 20_000, 80
# What a call may spend on translation: a tenth of the time in which it interprets, by what a block and a
# character of source take (about 1 and 0.4 microseconds).
BLOCKS_PER_CHARACTER = 4
# Interpreted blocks between two checks of the clock.
_BATCH = range(256)
# What things weigh in memory, in bytes: an empty program, a character of source once compiled, an entry of a
# dictionary or set, a block, a function of it.
PROGRAM_WEIGHT, CHARACTER_WEIGHT, ENTRY_WEIGHT = 5_000, 4, 100
BLOCK_WEIGHT, FUNCTION_WEIGHT = 400, 250
# The limits of the cache: programs, and bytes.
PROGRAMS, WEIGHT = 4096, 64 * 2**20
# The same for init code, which hardly ever runs again: but contracts create others in loops.
CREATIONS, CREATIONS_WEIGHT = 64, 8 * 2**20


class Program(dict[int, Trace]):
    """A code's traces by entry; one that is missing is interpreted, or translated, on arrival."""

    def __init__(self, raw: bytes, instructions: Instructions, arrivals: int, weigh: Callable[[int], None]):
        super().__init__()
        self.raw, self.instructions, self.threshold = raw, instructions, arrivals
        self.weigh = weigh
        self.arrivals: dict[int, int] = {}
        self.blocks: dict[int, CodeBlock] = {}
        self.taken: dict[int, bool] = {}
        self.weight = 0
        self.allowance = self.characters = CHARACTERS + CHARACTERS_PER_BYTE * len(raw)
        self._add_weight(PROGRAM_WEIGHT + len(raw))

    def _add_weight(self, weight: int) -> None:
        self.weight += weight
        self.weigh(weight)

    @cached_property
    def destinations(self) -> frozenset[int]:
        positions = frozenset(compress(range(len(self.raw)), jump_destinations(self.raw)))
        self._add_weight(len(positions) * ENTRY_WEIGHT)
        return positions

    @cached_property
    def names(self) -> dict[str, Any]:
        return {**NAMES, "D": self.destinations}

    def __missing__(self, position: int) -> Trace:
        return partial(self._arrive, position)

    def _arrive(
        self, position: int, stack: list[int], memory: bytearray, gas: int, frame: Frame
    ) -> tuple[int, int]:
        """Run from a position that has no trace, which is made if it's due."""
        if not self.due(position, frame.state):
            return self.interpret(position, stack, memory, gas, frame)
        frame.state.check_deadline()
        trace = self[position] = self._translate(position, frame)
        return trace(stack, memory, gas, frame)

    def due(self, position: int, state: EngineState) -> bool:
        """Return whether a position without a trace should get one; otherwise note the arrival."""
        if self.characters < 0:
            return False
        arrived = self.arrivals.get(position, 0)
        if arrived >= self.threshold:
            return state.translatable >= 0
        if not arrived:
            # One for the arrival, one for a jump behind it.
            self._add_weight(2 * ENTRY_WEIGHT)
        self.arrivals[position] = arrived + 1
        return False

    def _translate(self, position: int, frame: Frame) -> Trace:
        # The second half of the characters is for short traces: code with many paths has more than enough.
        short = 2 * self.characters < self.allowance
        code = CodeProfile(self.raw, self.instructions, self.destinations, self.taken, self, short)
        source = trace_source(code, position)
        self.characters -= len(source)
        frame.state.translatable -= len(source) * BLOCKS_PER_CHARACTER
        self._add_weight(ENTRY_WEIGHT + CHARACTER_WEIGHT * len(source))
        namespace: dict[str, Trace] = {}
        frame.state.check_deadline()
        exec(compile(source, "<trace>", "exec"), self.names, namespace)
        return namespace["f"]

    def interpret(
        self, position: int, stack: list[int], memory: bytearray, gas: int, frame: Frame
    ) -> tuple[int, int]:
        """Run blocks from a position until a jump leads to a trace, or to where one is due.

        Notes where jumps arrived, and which way those went that have two. Errors: as `run`.
        """
        state, blocks, length = frame.state, self.blocks, len(self.raw)
        while True:
            for count in _BATCH:
                block = blocks.get(position) or self._decode(position)
                price, min_stack, max_stack, functions, end, ending, target = block
                if gas < price or not min_stack <= len(stack) <= max_stack:
                    _halt(position, frame, gas)
                for function in functions:
                    function(stack, gas, frame)
                gas -= price
                if ending is None:
                    position, gas = execute(end, frame, gas)
                    continue
                if ending == op.JUMPDEST:
                    if end >= length:
                        return -1, gas
                    position = end
                    continue
                if target is None:
                    target = stack.pop()
                if ending == op.JUMPI:
                    taken = self.taken[end] = stack.pop() != 0
                    if not taken:
                        position = end + 1
                        continue
                if target not in self.destinations:
                    raise InvalidJumpDestination(f"There is no JUMPDEST at {target}.")
                position = target
                if position in self or self.due(position, state):
                    state.translatable += count
                    return position, gas
            state.translatable += len(_BATCH)
            state.check_deadline()

    def _decode(self, position: int) -> CodeBlock:
        block = self.blocks[position] = block_at(self.raw, position, self.instructions)
        self._add_weight(BLOCK_WEIGHT + FUNCTION_WEIGHT * len(block.functions))
        return block

    def run(self, frame: Frame) -> None:
        """Run the code to its end. Errors: the library's, as its own loop raises them; DeadlinePassed."""
        stack, memory, gas = frame.stack, frame.memory, frame.meter.gas_remaining
        position = 0
        try:
            while position >= 0:
                if gas < frame.checkpoint:
                    frame.pause(gas)
                position, gas = self[position](stack, memory, gas, frame)
        except Halt:
            return
        frame.meter.gas_remaining = gas


def _halt(position: int, frame: Frame, gas: int) -> NoReturn:
    """Let the library find the operation of a block that halts the frame. Errors: VMError."""
    while True:
        position, gas = execute(position, frame, gas)


class Programs:
    """The programs of one table of opcodes, the least recently used forgotten first."""

    def __init__(
        self, instructions: Instructions, arrivals: int = ARRIVALS, limit: int = WEIGHT, size: int = PROGRAMS
    ):
        self.instructions, self.arrivals, self.limit, self.size = instructions, arrivals, limit, size
        # Not cachetools: programs grow while they are cached, and each frame looks one up.
        self.entries: OrderedDict[bytes, Program] = OrderedDict()
        self.weight = 0

    def get(self, code: bytes) -> Program:
        return self._find(code, code)

    def _find(self, key: bytes, code: bytes) -> Program:
        program = self.entries.get(key)
        if program is None:
            program = self.entries[key] = Program(code, self.instructions, self.arrivals, self._weigh)
        else:
            self.entries.move_to_end(key)
        while len(self.entries) > self.size or (self.weight > self.limit and len(self.entries) > 1):
            self._evict_oldest()
        return program

    def _weigh(self, weight: int) -> None:
        self.weight += weight

    def _evict_oldest(self) -> None:
        self._evict(self.entries.popitem(last=False)[1])

    def _evict(self, program: Program) -> None:
        """It may still be running, and weighs nothing from then on."""
        program.weigh = lambda weight: None
        self.weight -= program.weight


class Creations(Programs):
    """Programs of init code, found by its length and its ends: to hash all of it takes as long as a frame."""

    def get(self, code: bytes) -> Program:
        key = len(code).to_bytes(4) + code[:64] + code[-64:]
        found = self.entries.get(key)
        if found is not None and found.raw != code:
            self._evict(self.entries.pop(key))
        return self._find(key, code)
