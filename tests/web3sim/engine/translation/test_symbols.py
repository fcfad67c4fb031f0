"""Pure operations give what the library's do, whether their operands are known beforehand or not."""

import random

import pytest
from eth.vm import opcode_values as op

from tests.web3sim.engine.world import BLOCK, CONTRACT, ENGINES, SENDER, World, code
from web3sim.engine.interface import AccountRecord, CallRequest, Profile
from web3sim.engine.translation.instructions import ARITY
from web3sim.engine.translation.symbols import PURE

EDGES = [
    *(0, 1, 2, 3, 5, 7, 8, 16, 30, 31, 32, 33, 127, 128, 255, 256, 257, 2**64, 2**128 - 1, 2**160 - 1),
    *(2**248, 2**255 - 1, 2**255, 2**255 + 1, 2**256 - 256, 2**256 - 3, 2**256 - 2, 2**256 - 1),
]
NAMES = {value: name for name, value in vars(op).items() if isinstance(value, int)}
OPERATIONS = sorted([*PURE, op.EXP])


def _operands(operation: int):
    """Each pair of edges for one or two operands; a choice of them for three."""
    count = ARITY[operation][0]
    if count == 1:
        return [(a,) for a in EDGES]
    if count == 2:
        return [(a, b) for a in EDGES for b in EDGES]
    choose = random.Random(operation)
    return [tuple(choose.choice(EDGES) for _ in range(count)) for _ in range(400)]


def _results(engine: str, program: bytes, data: bytes) -> list[int]:
    world = World({SENDER: AccountRecord(), CONTRACT: AccountRecord(nonce=1, code=program)})
    request = CallRequest(SENDER, CONTRACT, data, 10**9, profile=Profile.ETHEREUM)
    result = ENGINES[engine].execute(request, BLOCK, world)
    return [int.from_bytes(result.output[at : at + 32]) for at in range(0, len(result.output), 32)]


@pytest.mark.parametrize("known", ["all", "none", "the top", "all but the top"])
@pytest.mark.parametrize("operation", OPERATIONS, ids=NAMES.get)
def test_an_operation_gives_what_the_librarys_does(operation, known):
    program, data = bytearray(), bytearray()
    cases = _operands(operation)
    if known.startswith(("the", "all but")):
        cases = random.Random(known).sample(cases, min(len(cases), 250))
    for place, operands in enumerate(cases):
        for index, operand in reversed(list(enumerate(operands))):
            constant = {"all": True, "none": False, "the top": index == 0, "all but the top": index > 0}
            if constant[known]:
                program += code(operand)
            else:
                program += code(len(data), "CALLDATALOAD")
                data += operand.to_bytes(32)
        program += bytes([operation]) + code(32 * place, "MSTORE")
    program += code(32 * len(cases), 0, "RETURN")

    assert _results("pyevm-blocks, eager", bytes(program), bytes(data)) == _results(
        "pyevm", bytes(program), bytes(data)
    )


@pytest.mark.parametrize("masked", [8, 64, 160, 255])
@pytest.mark.parametrize("operation", OPERATIONS, ids=NAMES.get)
def test_an_operation_on_small_numbers_gives_what_the_librarys_does(operation, masked):
    """Where the translator knows how large operands can be, it leaves masks out."""
    program, data = bytearray(), bytearray()
    mask = 2**masked - 1
    cases = random.Random(masked).sample(_operands(operation), 28)
    for place, operands in enumerate(cases):
        for operand in reversed(operands):
            program += code(len(data), "CALLDATALOAD", mask, "AND")
            data += operand.to_bytes(32)
        program += bytes([operation]) + code("DUP1", "MUL", 7, "ADD", 32 * place, "MSTORE")
    program += code(32 * len(cases), 0, "RETURN")

    assert _results("pyevm-blocks, eager", bytes(program), bytes(data)) == _results(
        "pyevm", bytes(program), bytes(data)
    )
