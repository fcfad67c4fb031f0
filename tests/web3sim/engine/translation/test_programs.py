"""Programs: translated after a few arrivals, within what their code may have; kept within what fits."""

import gc
import time
import weakref

import pytest

from tests.benchmarks.evm_traps import Trap, traps
from tests.web3sim.engine.world import BLOCK, CONTRACT, SENDER, World, code
from web3sim.engine.computation import EngineComputation
from web3sim.engine.interface import AccountRecord, CallRequest, CallResult, Profile, Status
from web3sim.engine.state import TRANSLATION_ALLOWANCE
from web3sim.engine.translation.engine import TranslatedEngine
from web3sim.engine.translation.instructions import Instructions
from web3sim.engine.translation.programs import (
    BLOCKS_PER_CHARACTER,
    PROGRAMS,
    Program,
    Programs,
)
from web3sim.engine.translation.source import CHARACTER_LIMIT

INSTRUCTIONS = Instructions.from_table(EngineComputation.opcodes)


def _counting(rounds: int) -> bytes:
    """A loop of so many rounds."""
    return code(rounds) + code("JUMPDEST", 1, "SWAP1", "SUB", "DUP1", 2, "JUMPI", "STOP")


def _run(engine: TranslatedEngine, raw: bytes, data: bytes = b"", **given) -> CallResult:
    world = World({SENDER: AccountRecord(), CONTRACT: AccountRecord(nonce=1, code=raw)})
    request = CallRequest(SENDER, CONTRACT, data, 10**7, profile=Profile.ETHEREUM)
    return engine.execute(request._replace(**given), BLOCK, world)


def _trap(name: str) -> Trap:
    return next(trap for trap in traps() if trap.name == name)


def _program(engine: TranslatedEngine, raw: bytes) -> Program:
    kept: Programs = engine.computations[Profile.ETHEREUM].programs
    return kept.entries[raw]


@pytest.mark.parametrize(
    "name", ["24 KiB of hops, 50,000 gas", "24 KiB of paths", "a loop of 600 with branches"]
)
def test_a_call_translates_no_more_than_a_tenth_of_what_it_interprets(name):
    trap = _trap(name)
    engine = TranslatedEngine()

    result = _run(engine, trap.code, gas=trap.gas)

    program = _program(engine, trap.code)
    spent = BLOCKS_PER_CHARACTER * (program.allowance - program.characters)
    # An operation costs 2 gas and more; one trace may be begun with the last of it.
    may = TRANSLATION_ALLOWANCE + result.execution_gas // 2
    assert 0 < spent < may + 2 * BLOCKS_PER_CHARACTER * CHARACTER_LIMIT


def test_the_clock_is_looked_at_before_and_while_a_trace_is_made(monkeypatch):
    looks: list[float] = []

    def clock() -> float:
        looks.append(0.0)
        return 0.0

    monkeypatch.setattr(time, "monotonic", clock)
    trap = _trap("24 KiB of hops, 50,000 gas")
    engine = TranslatedEngine()

    _run(engine, trap.code, gas=trap.gas, deadline=1.0)

    assert len(looks) > 2 * len(_program(engine, trap.code)) > 20


def test_a_programs_translation_ends_with_its_allowance():
    """Each destination of a long row is an entry of its own, from which the rest is translated."""
    engine = TranslatedEngine(arrivals=0)
    row = bytes([0x5B]) * 5_000
    head = code(0, "CALLDATALOAD", "JUMP")
    raw = head + row + code("STOP")
    for entry in range(0, 5_000, 10):
        result = _run(engine, raw, (len(head) + entry).to_bytes(32))
        assert (result.status, result.gas_used - result.intrinsic_gas) == (Status.SUCCESS, 14 + 5_000 - entry)

    program = _program(engine, raw)
    assert program.characters > -20_000
    assert program.weight < 100 * len(raw) * 4


def test_least_recently_used_programs_are_dropped():
    programs = Programs(INSTRUCTIONS)
    first = programs.get(bytes(1))
    for size in range(2, PROGRAMS + 1):
        programs.get(bytes(size))
    assert programs.get(bytes(1)) is first

    programs.get(bytes(PROGRAMS + 1))

    assert programs.get(bytes(1)) is first
    assert bytes(2) not in programs.entries
    assert len(programs.entries) == PROGRAMS


def test_programs_weigh_no_more_than_they_may():
    engine = TranslatedEngine(arrivals=0)
    programs = engine.computations[Profile.ETHEREUM].programs
    programs.limit = 200_000

    for rounds in range(1_000, 1_200):
        _run(engine, _counting(rounds))

    assert 0 < len(programs.entries) < 60
    assert programs.weight == sum(program.weight for program in programs.entries.values())
    assert programs.weight < 250_000


def test_a_program_that_is_forgotten_is_freed_without_the_collector():
    engine, raw = TranslatedEngine(arrivals=0), _counting(3)
    programs = engine.computations[Profile.ETHEREUM].programs
    _run(engine, raw)
    program = weakref.ref(programs.get(raw))
    gc.collect()
    gc.disable()
    try:
        programs._evict_oldest()
        assert program() is None
    finally:
        gc.enable()
