"""Source that is generated from code has only numbers and names of its own."""

import ast

import pytest

from tests.web3sim.engine.programs import program
from web3sim.engine.code import jump_destinations
from web3sim.engine.computation import EngineComputation
from web3sim.engine.translation.instructions import Instructions
from web3sim.engine.translation.runtime import NAMES
from web3sim.engine.translation.source import CodeProfile, trace_source

INSTRUCTIONS = Instructions.from_table(EngineComputation.opcodes)
ATTRIBUTES = {
    *("append", "bit_length", "checkpoint", "computation", "data", "interpret", "message"),
    *("return_data", "sender", "size", "storage_address", "to_bytes", "value"),
}


def _sources(raw: bytes) -> list[str]:
    """The traces from the start and from each jump destination."""
    places = frozenset(place for place, marked in enumerate(jump_destinations(raw)) if marked)
    known = CodeProfile(raw, INSTRUCTIONS, places, {})
    return [trace_source(known, place) for place in sorted({0, *places})]


@pytest.mark.parametrize("seed", range(20))
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
