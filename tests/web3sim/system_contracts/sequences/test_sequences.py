"""Random sequences of system contract calls, with reverts at random places.

MIRROR_TEST_SEQUENCES is how many are played. Of those that fail the numbers are told; MIRROR_TEST_FIRST
is the number to begin with.
"""

import os
from functools import partial
from random import Random

import pytest

from tests.web3sim.state.states import current, journal
from tests.web3sim.system_contracts.sequences.ledger import Snapshot, faults, hbar_of, ledger, snapshot
from tests.web3sim.system_contracts.sequences.play import Frame, Played, play, random_frame
from web3sim.engine.interface import Halt, Status
from web3sim.state.overlay import Overlay

SEQUENCES = int(os.environ.get("MIRROR_TEST_SEQUENCES", "150"))
FIRST = int(os.environ.get("MIRROR_TEST_FIRST", "0"))
_ENDING = (Halt.NO_SCHEDULING, Halt.CHILD_RECORDS)


@pytest.fixture
def stored(build):
    ledger(build)
    return _stored()


def _stored() -> Snapshot:
    """The ledger as a call finds it."""
    state = current()
    return snapshot(Overlay(state, journal(state)))


def test_everything_adds_up_after_random_sequences_and_reverted_frames_leave_nothing(stored):
    found, ended = {}, 0
    for number in range(FIRST, FIRST + SEQUENCES):
        random = Random(number)
        frame, look_after = random_frame(random), random.randint(1, 10)
        seen_by_another = [stored]
        played = play(frame, partial(_look, seen_by_another), look_after)
        if played.result.halt in _ENDING:
            ended += 1
            unchanged = snapshot(played.ledger) == stored
            wrong = [] if unchanged else ["a call that was ended has changed something"]
        else:
            wrong = _faults_of(played, frame, stored, seen_by_another)
        if wrong:
            found[number] = wrong

    assert found == {}
    # Of what is ended nothing else is compared.
    assert ended <= SEQUENCES // 10


def _look(seen: list[Snapshot]) -> None:
    seen.append(_stored())


def _faults_of(played: Played, frame: Frame, stored: Snapshot, seen_by_another: list[Snapshot]) -> list[str]:
    after = snapshot(played.ledger)
    wrong = faults(played.ledger, after, hbar_of(stored))
    if played.result.status is not Status.SUCCESS:
        wrong.append(f"{played.result.status}: {played.result.halt}")
    if seen_by_another[-1] != stored:
        wrong.append("another call sees what this one changed")
    if _stored() != stored:
        wrong.append("a later call sees what this one changed")
    staying = frame.staying()
    without = play(staying)
    if snapshot(without.ledger) != after or dict(played.ledger.journal.rows()) != dict(
        without.ledger.journal.rows()
    ):
        wrong.append("it matters that frames were reverted")
    if played.outcomes(frame) != without.outcomes(staying):
        wrong.append("steps answer otherwise after frames that were reverted")
    if played.result.logs != without.result.logs:
        wrong.append("logs differ")
    return wrong
