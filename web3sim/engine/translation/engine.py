"""The engine `pyevm-blocks`: the same frames as `pyevm`, whose code is translated to Python while it runs."""

from collections.abc import Mapping
from typing import Any, ClassVar

from web3sim.engine.computation import EngineComputation
from web3sim.engine.interface import Profile
from web3sim.engine.ledger.computation import LedgerComputation
from web3sim.engine.ledger.prague import VERSIONS, prague
from web3sim.engine.pyevm import PlainEngine
from web3sim.engine.translation.frame import Frame
from web3sim.engine.translation.instructions import Instructions
from web3sim.engine.translation.programs import ARRIVALS, CREATIONS, CREATIONS_WEIGHT, Creations, Programs
from web3sim.engine.versions import EvmVersion


class TranslatedComputation(EngineComputation):
    """A frame that runs a program, unless it is traced. Init code has a cache of its own."""

    programs: ClassVar[Programs]
    creations: ClassVar[Programs]

    def run_code(self) -> None:
        if self.state.tracer is not None:
            super().run_code()
        elif code := self.msg.code:
            program = (self.creations if self.msg.is_create else self.programs).get(code)
            program.run(Frame(self, program))

    # The library reads these dozens of times.

    @property
    def is_success(self) -> bool:
        return self._error is None

    @property
    def is_error(self) -> bool:
        return self._error is not None


class TranslatedLedgerComputation(TranslatedComputation, LedgerComputation):
    """A frame by a ledger's rules that runs a program."""


class TranslatedEngine(PlainEngine):
    """With a tracer it is the plain engine. `arrivals`: how often code is interpreted before translation."""

    name = "pyevm-blocks"

    def __init__(self, arrivals: int = ARRIVALS) -> None:
        bases: dict[Profile | EvmVersion, Any] = {
            Profile.ETHEREUM: TranslatedComputation,
            Profile.LEDGER: TranslatedLedgerComputation,
            **{version: prague(TranslatedLedgerComputation, version) for version in VERSIONS},
        }
        self.computations: Mapping[Profile | EvmVersion, type[TranslatedComputation]] = {
            key: _with_programs(base, arrivals) for key, base in bases.items()
        }


def _with_programs(base: type[TranslatedComputation], arrivals: int) -> type[TranslatedComputation]:
    """The class with caches of its own."""
    instructions = Instructions.from_table(base.opcodes)
    programs = Programs(instructions, arrivals)
    creations = Creations(instructions, arrivals, CREATIONS_WEIGHT, CREATIONS)
    return type(base.__name__, (base,), {"programs": programs, "creations": creations})


ENGINE = TranslatedEngine()
