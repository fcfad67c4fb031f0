import random

import pytest

from web3sim.engine.code import jump_destinations

JUMPDEST, PUSH1, PUSH2, PUSH32 = 0x5B, 0x60, 0x61, 0x7F


def marks(*positions: int, size: int) -> bytes:
    return bytes(position in positions for position in range(size))


@pytest.mark.parametrize(
    ("code", "destinations"),
    [
        (b"", b""),
        (bytes([JUMPDEST]), marks(0, size=1)),
        (bytes([PUSH1, JUMPDEST, JUMPDEST]), marks(2, size=3)),
        (bytes([PUSH2, JUMPDEST]), marks(size=2)),
        (bytes([PUSH32, *[JUMPDEST] * 33]), marks(33, size=34)),
        (bytes([PUSH1, PUSH1, JUMPDEST]), marks(2, size=3)),
        (bytes([0x0A, 0x2E, JUMPDEST, PUSH1, 0x0A, JUMPDEST]), marks(2, 5, size=6)),
    ],
    ids=range(7),
)
def test_push_data_is_no_destination(code, destinations):
    assert jump_destinations(code) == destinations


def test_destinations_are_those_of_a_walk():
    choose = random.Random(91)
    for _ in range(500):
        code = bytes(choose.choice([JUMPDEST, PUSH1, PUSH2, PUSH32, 1]) for _ in range(choose.randrange(120)))
        found, position = [], 0
        while position < len(code):
            if code[position] == JUMPDEST:
                found.append(position)
            position += code[position] - PUSH1 + 2 if PUSH1 <= code[position] <= PUSH32 else 1
        assert jump_destinations(code) == marks(*found, size=len(code))
