"""Blocks: what they cost, what stack they need, and where they end."""

import pytest
from eth.vm import opcode_values as op

from tests.benchmarks.evm_traps import traps
from tests.web3sim.engine.world import code
from web3sim.engine.computation import EngineComputation
from web3sim.engine.translation.code_blocks import block_at
from web3sim.engine.translation.instructions import Instructions

INSTRUCTIONS = Instructions.from_table(EngineComputation.opcodes)


@pytest.mark.parametrize(
    ("raw", "price", "bounds", "functions", "end", "ending", "target"),
    [
        (b"", 0, (0, 1024), 0, 0, op.JUMPDEST, None),
        (code(1, 2, "ADD", "STOP"), 9, (0, 1022), 3, 5, None, None),
        (code("ADD", "SWAP2", "SLOAD"), 6, (4, 1024), 2, 2, None, None),
        (code("JUMPDEST", "JUMPDEST", "POP"), 2, (0, 1024), 0, 2, op.JUMPDEST, None),
        (code("JUMPDEST", "POP", "JUMPDEST"), 3, (1, 1024), 1, 2, op.JUMPDEST, None),
        # The target of the jump is pushed by the block itself, and not by a function.
        (code("DUP1", 9, "JUMPI"), 16, (1, 1022), 1, 3, op.JUMPI, 9),
        (code("GAS", "JUMP"), 10, (0, 1023), 1, 1, op.JUMP, None),
        (bytes([op.PUSH32, 1]), 3, (0, 1023), 1, 33, op.JUMPDEST, 1 << 248),
        (bytes([op.JUMPDEST]) * 1_000, 256, (0, 1024), 0, 256, op.JUMPDEST, None),
    ],
)
def test_a_block_is_straight_code_about_the_stack(raw, price, bounds, functions, end, ending, target):
    block = block_at(raw, 0, INSTRUCTIONS)

    assert (block.price, (block.min_stack, block.max_stack), len(block.functions)) == (
        price,
        bounds,
        functions,
    )
    assert (block.end, block.ending, block.target) == (end, ending, target)


PATHS = next(trap.code for trap in traps() if trap.name == "24 KiB of paths")
ROWS = (bytes([op.JUMPDEST]) * 128 + bytes([op.PUSH0]) * 127 + bytes([op.STOP])) * 95


@pytest.mark.parametrize("raw", [PATHS, ROWS], ids=["paths", "rows"])
def test_blocks_of_code_with_many_targets_do_not_overlap(raw):
    """What they can weigh grows with the code, not with its square."""
    targets = [position for position, byte in enumerate(raw) if byte == op.JUMPDEST]

    assert sum(len(block_at(raw, each, INSTRUCTIONS).functions) for each in targets) < len(raw)
