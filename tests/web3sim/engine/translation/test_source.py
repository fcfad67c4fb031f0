"""What is generated from code: only numbers and names of its own, and never much of it."""

import ast
import random

import pytest

from tests.web3sim.engine.programs import program
from tests.web3sim.engine.world import code
from web3sim.engine.code import jump_destinations
from web3sim.engine.computation import EngineComputation
from web3sim.engine.translation.instructions import Instructions
from web3sim.engine.translation.runtime import NAMES
from web3sim.engine.translation.source import CHARACTER_LIMIT, INSTRUCTION_LIMIT, CodeProfile, trace_source

INSTRUCTIONS = Instructions.from_table(EngineComputation.opcodes)
ATTRIBUTES = {
    *("append", "bit_length", "checkpoint", "computation", "data", "interpret", "message"),
    *("return_data", "sender", "size", "storage_address", "to_bytes", "value"),
}


def _sources(raw: bytes, taken=None) -> list[str]:
    """The traces from the start and from each jump destination."""
    places = frozenset(place for place, marked in enumerate(jump_destinations(raw)) if marked)
    known = CodeProfile(raw, INSTRUCTIONS, places, taken or {})
    return [trace_source(known, place) for place in sorted({0, *places})]


@pytest.mark.parametrize("seed", range(60))
def test_generated_source_has_only_numbers_and_names_of_its_own(seed):
    world, _ = program(seed)
    for account in world.accounts.values():
        for source in _sources(account.code):
            for node in ast.walk(ast.parse(source)):
                if isinstance(node, ast.Constant):
                    assert isinstance(node.value, int)
                elif isinstance(node, ast.Name):
                    known = node.id in NAMES or node.id in {
                        "D",
                        "bytes",
                        "f",
                        "g",
                        "len",
                        "m",
                        "n",
                        "pow",
                        "s",
                        "x",
                    }
                    assert known or (node.id[0] in "it" and node.id[1:].isdigit()), node.id
                elif isinstance(node, ast.Attribute):
                    assert node.attr in ATTRIBUTES


def test_a_jump_to_a_known_place_is_part_of_the_trace():
    source = _sources(code(4, "JUMP", "STOP", "JUMPDEST", "CALLVALUE", 0, "MSTORE", "STOP"))[0]

    assert "return" not in source.replace("return x.interpret(0, s, m, g, x)", "").replace("return -1, g", "")
    assert "x.message.value" in source


def test_trace_follows_the_last_branch():
    raw = code("CALLVALUE", 7, "JUMPI", 0, "STOP", "JUMPDEST", "CALLER", 0, "MSTORE", "STOP")

    for taken in ({}, {3: False}):
        assert "return 7, g" in _sources(raw, taken)[0]
        assert "sender" not in _sources(raw, taken)[0]
    assert "return 4, g" in _sources(raw, {3: True})[0]
    assert "sender" in _sources(raw, {3: True})[0]


def test_trace_back_to_its_entry_is_a_loop():
    counted_down = code(100) + code("JUMPDEST", 1, "SWAP1", "SUB", "DUP1", 2, "JUMPI", "STOP")
    places = frozenset({2})

    source = trace_source(CodeProfile(counted_down, INSTRUCTIONS, places, {}), 2)

    assert "while g >= x.checkpoint" in source
    assert source.index("i1 = s[-1]") < source.index("while")


def test_a_trace_ends_at_a_computed_jump_whichever_way_it_went():
    raw = code("CALLVALUE", "CALLDATASIZE", "JUMPI", "CALLER", 0, "MSTORE", "STOP")

    for taken in ({}, {2: False}, {2: True}):
        assert "return 3, g" in _sources(raw, taken)[0]
        assert "sender" not in _sources(raw, taken)[0]


def test_long_trace_ends_at_a_jump_back():
    outer = code("JUMPDEST", *["GAS", "POP"] * 60, "JUMPDEST", *["CALLER", "POP"] * 60, 0, "JUMP")

    assert _sources(outer)[1].rstrip().endswith("return 0, g")
    assert "while" in _sources(outer)[0]


def _wide() -> bytes:
    """Many values on the stack, written back by each of many jumps."""
    values = b"".join(b"\x7f" + bytes([255] * 31 + [number]) for number in range(200))
    return values + code("CALLVALUE", 0, "JUMPI") * 100


@pytest.mark.parametrize(
    "raw",
    [
        bytes([0x5B]) * 24_576,
        bytes([0x58]) * 24_576,
        _wide(),
        code(2**256 - 1, 2**256 - 1, "EXP", 2**256 - 1, "EXP", 2**255, "SHL", 2**256 - 1, "SHA3"),
        code("CALLDATASIZE", *["DUP1"] * 1_000, *["MUL"] * 999, 0, "MSTORE"),
        code("CALLVALUE", *["ISZERO"] * 5_000),
        random.Random(1).randbytes(24_576),
    ],
    ids=["destinations", "counters", "wide jumps", "large numbers", "a long product", "negations", "noise"],
)
def test_a_trace_is_short_whatever_the_code(raw):
    places = frozenset(place for place, marked in enumerate(jump_destinations(raw)) if marked)
    known = CodeProfile(raw, INSTRUCTIONS, places, {})
    for start in [0, *random.Random(2).sample(range(len(raw)), min(len(raw), 200))]:
        source = trace_source(known, start)
        # The last exit writes the whole stack.
        assert len(source) < 2 * CHARACTER_LIMIT + 100 * INSTRUCTION_LIMIT
        compile(source, "<trace>", "exec")
