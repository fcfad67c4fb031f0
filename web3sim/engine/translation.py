"""The engine `pyevm-blocks`: the same frames as `pyevm`, whose code is translated to Python while it runs."""

from collections.abc import Mapping
from typing import Any

from eth.exceptions import FullStack
from eth.vm.stack import Stack

from web3sim.engine.computation import EngineComputation
from web3sim.engine.ledger import LedgerComputation
from web3sim.engine.plain import PlainEngine
from web3sim.engine.seam import Profile
from web3sim.engine.translation_code import Instructions
from web3sim.engine.translation_programs import ARRIVALS, Programs
from web3sim.engine.translation_runtime import Frame

_STACK_LIMIT = 1024


class IntegerStack(Stack):
    """A stack of ints alone, where the library's also has bytes."""

    def push_bytes(self, value: bytes) -> None:
        if len(self.values) >= _STACK_LIMIT:
            raise FullStack("Stack limit reached")
        self.values.append(int.from_bytes(value))


class TranslatedEngine(PlainEngine):
    """With a tracer it is the plain engine. `arrivals`: how often code is interpreted before translation."""

    name = "pyevm-blocks"

    def __init__(self, arrivals: int = ARRIVALS) -> None:
        self.computations: Mapping[Profile, type[EngineComputation]] = {
            Profile.ETHEREUM: _translated(EngineComputation, arrivals),
            Profile.LEDGER: _translated(LedgerComputation, arrivals),
        }


def _translated(base: type[EngineComputation], arrivals: int) -> type[EngineComputation]:
    """A computation class whose frames run programs."""
    programs = Programs(Instructions.of(base.opcodes), arrivals)

    def run_code(self: Any) -> None:
        if self.state.tracer is not None:
            base.run_code(self)
        elif self.msg.code:
            self._stack = IntegerStack()
            program = programs.of(self.msg.code)
            program.run(Frame(self, program))

    return type(f"Translated{base.__name__}", (base,), {"run_code": run_code})


ENGINE = TranslatedEngine()
