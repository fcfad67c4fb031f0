"""Programs: translated after a few arrivals, within what their code may have; kept within what fits."""

from dataclasses import replace

import pytest

from tests.web3sim.engine.world import BLOCK, CONTRACT, SENDER, World, code
from web3sim.engine.computation import EngineComputation
from web3sim.engine.seam import AccountRecord, CallRequest, CallResult, Profile, Status
from web3sim.engine.translation import TranslatedEngine
from web3sim.engine.translation_code import Instructions
from web3sim.engine.translation_programs import PROGRAMS, Program, Programs

INSTRUCTIONS = Instructions.of(EngineComputation.opcodes)


def _counting(rounds: int) -> bytes:
    """A loop of so many rounds."""
    return code(rounds) + code("JUMPDEST", 1, "SWAP1", "SUB", "DUP1", 2, "JUMPI", "STOP")


def _run(engine: TranslatedEngine, raw: bytes, data: bytes = b"", **given) -> CallResult:
    world = World({SENDER: AccountRecord(), CONTRACT: AccountRecord(nonce=1, code=raw)})
    request = CallRequest(SENDER, CONTRACT, data, 10**7, profile=Profile.ETHEREUM)
    return engine.execute(replace(request, **given), BLOCK, world)


def _program(engine: TranslatedEngine, raw: bytes) -> Program:
    kept: Programs = engine.computations[Profile.ETHEREUM].programs
    return kept.kept[raw]


def test_a_loop_is_translated_after_some_rounds_and_the_rest_is_not():
    engine = TranslatedEngine(arrivals=8)

    _run(engine, _counting(200))

    assert set(_program(engine, _counting(200))) == {2}


@pytest.mark.parametrize(("rounds", "translated"), [(8, False), (9, False), (10, True)])
def test_as_many_arrivals_are_interpreted_as_the_engine_says(rounds, translated):
    engine = TranslatedEngine(arrivals=8)

    _run(engine, _counting(rounds))

    # The first round is entered from above, the others by the jump.
    assert bool(_program(engine, _counting(rounds))) is translated


def test_init_code_is_not_kept():
    engine = TranslatedEngine()

    assert _run(engine, b"", _counting(100), to=None).status is Status.SUCCESS
    assert not engine.computations[Profile.ETHEREUM].programs.kept


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
    assert program.weight < 60 * len(raw) * 4


def test_the_least_recently_used_programs_are_forgotten():
    programs = Programs(INSTRUCTIONS)
    first = programs.of(bytes(1))
    for size in range(2, PROGRAMS + 1):
        programs.of(bytes(size))
    assert programs.of(bytes(1)) is first

    programs.of(bytes(PROGRAMS + 1))

    assert programs.of(bytes(1)) is first
    assert bytes(2) not in programs.kept
    assert len(programs.kept) == PROGRAMS


def test_programs_weigh_no_more_than_they_may():
    engine = TranslatedEngine(arrivals=0)
    programs = engine.computations[Profile.ETHEREUM].programs
    programs.limit = 200_000

    for rounds in range(1_000, 1_200):
        _run(engine, _counting(rounds))

    assert 0 < len(programs.kept) < 60
    assert programs.weight == sum(program.weight for program in programs.kept.values())
    assert programs.weight < 250_000
