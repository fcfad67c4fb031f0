"""Programs: codes that are translated while they run, and the cache that keeps them.

A position is interpreted by the library for its first few arrivals, which also shows which way its jumps go;
then its trace is translated. So code that runs once costs what it costs without translation, and what an
attacker can have translated is bounded by the gas he pays for the arrivals.
"""

from collections import OrderedDict
from collections.abc import Callable
from functools import cached_property, partial
from typing import Any

from eth.exceptions import Halt

from web3sim.engine.code import jump_destinations
from web3sim.engine.translation_code import Instructions
from web3sim.engine.translation_runtime import NAMES, Frame, interpret
from web3sim.engine.translation_source import Code, trace_source

Trace = Callable[[list[int], bytearray, int, Frame], tuple[int, int]]

# Arrivals that are interpreted: translating costs about as much as that many runs.
ARRIVALS = 8
# Programs kept, and what they may weigh: characters of source translated, plus bytes of code.
PROGRAMS, WEIGHT = 4096, 16_000_000
# A program may have so many characters translated per byte of its code, and these at least.
CHARACTERS_PER_BYTE, CHARACTERS = 60, 100_000


class Program(dict[int, Trace]):
    """A code's traces by entry; one that is missing is interpreted, or translated, on arrival."""

    def __init__(self, raw: bytes, instructions: Instructions, arrivals: int):
        super().__init__()
        self.raw, self.instructions, self.threshold = raw, instructions, arrivals
        self.arrivals: dict[int, int] = {}
        self.taken: dict[int, bool] = {}
        self.weight = len(raw)
        self.allowed = self.weight + CHARACTERS + CHARACTERS_PER_BYTE * len(raw)

    @cached_property
    def destinations(self) -> frozenset[int]:
        return frozenset(place for place, marked in enumerate(jump_destinations(self.raw)) if marked)

    @cached_property
    def names(self) -> dict[str, Any]:
        return {**NAMES, "D": self.destinations}

    def __missing__(self, position: int) -> Trace:
        arrived = self.arrivals.get(position, 0)
        if arrived < self.threshold or self.weight > self.allowed:
            self.arrivals[position] = arrived + 1
            return partial(interpret, position)
        trace = self[position] = self._translate(position)
        return trace

    def _translate(self, position: int) -> Trace:
        source = trace_source(Code(self.raw, self.instructions, self.destinations, self.taken), position)
        self.weight += len(source)
        made: dict[str, Trace] = {}
        exec(compile(source, "<trace>", "exec"), self.names, made)
        return made["f"]

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


class Programs:
    """The programs of one table of opcodes, the least recently used forgotten first."""

    def __init__(self, instructions: Instructions, arrivals: int = ARRIVALS):
        self.instructions, self.arrivals = instructions, arrivals
        self.kept: OrderedDict[bytes, Program] = OrderedDict()

    def of(self, code: bytes) -> Program:
        program = self.kept.get(code)
        if program is None:
            program = self.kept[code] = Program(code, self.instructions, self.arrivals)
            self._forget()
        else:
            self.kept.move_to_end(code)
        return program

    def _forget(self) -> None:
        weight = sum(program.weight for program in self.kept.values())
        while len(self.kept) > PROGRAMS or (weight > WEIGHT and len(self.kept) > 1):
            _, oldest = self.kept.popitem(last=False)
            weight -= oldest.weight
