"""Random programs through both engines: the translated code can't be told from the library's own loop.

`MIRROR_TEST_PROGRAMS` says how many programs (600 without it), `MIRROR_TEST_PROGRAMS_FROM` the first seed.
"""

import os
import random
from collections import Counter

import pytest

from tests.web3sim.engine.programs import program
from tests.web3sim.engine.world import BLOCK
from web3sim.engine.interface import Status
from web3sim.engine.pyevm import ENGINE as PLAIN
from web3sim.engine.translation.engine import TranslatedEngine

PROGRAMS = int(os.environ.get("MIRROR_TEST_PROGRAMS", "300"))
FIRST = int(os.environ.get("MIRROR_TEST_PROGRAMS_FROM", "0"))
SLICES = 10


@pytest.fixture(scope="module")
def eager() -> TranslatedEngine:
    """Translates whatever is reached, at once."""
    return TranslatedEngine(arrivals=0)


@pytest.fixture(scope="module")
def watching() -> TranslatedEngine:
    """Interprets once, and so knows which way jumps go when it translates."""
    return TranslatedEngine(arrivals=1)


@pytest.fixture(scope="module")
def outcomes():
    counted: Counter[Status] = Counter()
    yield counted
    print(f"\n{sum(counted.values())} programs: {', '.join(f'{n} {s.value}' for s, n in counted.items())}")


@pytest.mark.parametrize("part", range(SLICES))
def test_the_engines_differ_in_no_field_of_a_result(part, eager, watching, outcomes):
    for seed in range(FIRST + part, FIRST + PROGRAMS, SLICES):
        world, request = program(seed)
        expected = PLAIN.execute(request, BLOCK, world)
        assert eager.execute(request, BLOCK, world) == expected, f"seed {seed}"
        for arrival in range(3):
            assert watching.execute(request, BLOCK, world) == expected, f"seed {seed}, arrival {arrival}"
        outcomes[expected.status] += 1
        if expected.status is not Status.HALT:
            # With less gas than it takes.
            less = expected.intrinsic_gas + random.Random(seed).randrange(expected.execution_gas + 1)
            starved = request._replace(gas=less)
            expected = PLAIN.execute(starved, BLOCK, world)
            for engine in (eager, watching):
                assert engine.execute(starved, BLOCK, world) == expected, f"seed {seed}, {less} gas"
