"""Random programs on plain Cancun, beside revm: an EVM that shares nothing with the engines here.

`vectors/revm.txt` has a digest for each program, of what revm answered (pyrevm 0.3.7, November 2026) for the
programs that `programs.program` made then.
"""

from hashlib import sha256
from pathlib import Path

import pytest

from tests.web3sim.engine.programs import program
from tests.web3sim.engine.world import BLOCK as LATER
from web3sim.engine.interface import CallRequest, CallResult, Profile, Status
from web3sim.engine.pyevm import ENGINE

ANSWERS = (Path(__file__).parent / "vectors" / "revm.txt").read_text().split()
SLICES = 5
# The first one: revm makes up the hashes of earlier blocks.
BLOCK = LATER._replace(number=0)


def digest(request: CallRequest, result: CallResult) -> str:
    """A digest of what revm states: of failures only the gas, of a creation not its output."""
    stated: list[object] = [result.status.value, result.gas_used]
    if result.status is Status.SUCCESS:
        stated += [
            b"" if request.to is None else result.output,
            [(log.address, log.topics, log.data) for log in result.logs],
            sorted(
                (*place, change.written or 0)
                for place, change in result.slots.items()
                if place[0] not in result.deleted
            ),
            sorted(result.balances.items()),
        ]
    return sha256(repr(stated).encode()).hexdigest()[:16]


@pytest.mark.parametrize("part", range(SLICES))
def test_random_programs_do_here_what_they_did_on_revm(part):
    for seed in range(part, len(ANSWERS), SLICES):
        world, request = program(seed)
        # revm takes storage that it is given before the call for touched already.
        world.slots.clear()
        request = request._replace(profile=Profile.ETHEREUM, static=False, gas_price=0)

        assert digest(request, ENGINE.execute(request, BLOCK, world)) == ANSWERS[seed], f"seed {seed}"
