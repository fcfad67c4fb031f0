"""What the watcher makes of what servers say."""

from collections.abc import Callable

import pytest

from mirror.core.db.replicas import shared_state, watching
from mirror.core.db.replicas.servers import Server
from mirror.core.db.replicas.shared_state import Scoreboard, State
from mirror.core.db.replicas.watching import Lags, ServerState, Watcher

REPLICA, PRIMARY = 0, 1
SERVERS = [Server(REPLICA, "replica", {}, False), Server(PRIMARY, "primary", {}, True)]


@pytest.fixture
def known() -> Scoreboard:
    return Scoreboard(shared_state.create(2), 2)


def judged(watcher: Watcher, replica: ServerState | None, primary: ServerState | None) -> None:
    watcher.judge([replica, primary], ["refused", "refused"])


def test_a_replica_is_as_far_behind_as_the_first_block_that_it_lacks_is_old() -> None:
    times = [100.0]
    lags = Lags(lambda: times[-1])
    assert lags.lag(5) == 0
    for time, block in ((100.0, 5), (103.0, 6), (104.0, 9)):
        times.append(time)
        lags.note(block)
    times.append(110.0)
    assert [lags.lag(block) for block in (9, 8, 6, 5)] == [0, 6, 6, 7]
    assert lags.newest == 9


def test_a_server_that_says_nothing_is_away_and_well_again_later(known: Scoreboard) -> None:
    watcher = Watcher(SERVERS, known)
    judged(watcher, None, ServerState(7, 0.0))
    assert (known.status(REPLICA).state, known.status(PRIMARY).state) == (State.AWAY, State.WELL)
    judged(watcher, ServerState(6, 0.0), None)
    assert (known.status(REPLICA).state, known.status(PRIMARY).state) == (State.WELL, State.AWAY)
    assert known.block(REPLICA) == 6


def test_a_replica_that_lacks_a_block_for_too_long_is_behind(
    known: Scoreboard, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.readMaxLag": -1.0})
    watcher = Watcher(SERVERS, known)
    judged(watcher, ServerState(7, 0.0), ServerState(7, 0.0))
    assert known.status(REPLICA).state == State.BEHIND
    assert known.status(PRIMARY).state == State.WELL


def test_what_a_replica_has_yet_to_replay_counts_while_the_primary_is_away(known: Scoreboard) -> None:
    watcher = Watcher(SERVERS, known)
    late = ServerState(7, 3600.0)
    judged(watcher, late, ServerState(7, 0.0))
    assert known.status(REPLICA).state == State.WELL
    judged(watcher, late, None)
    assert known.status(REPLICA) == (State.BEHIND, 7, 3600.0)


def test_blocks_that_are_lost_are_waited_for_and_then_given_up(
    known: Scoreboard, monkeypatch: pytest.MonkeyPatch
) -> None:
    watcher = Watcher(SERVERS, known)
    known.record_answered(8)
    judged(watcher, ServerState(7, 0.0), None)
    judged(watcher, ServerState(7, 0.0), None)
    assert known.newest_answered == 8
    monkeypatch.setattr(watching, "_RESET_SECONDS", -1.0)
    judged(watcher, ServerState(7, 0.0), None)
    assert known.newest_answered == 7


def test_the_newest_block_answered_from_never_falls_by_itself(known: Scoreboard) -> None:
    for block in (3, 9, 4):
        known.record_answered(block)
    assert known.newest_answered == 9


def test_processes_share_what_they_know(known: Scoreboard) -> None:
    other = Scoreboard(known.file, 2)
    known.record_answered(12)
    known.set_state(REPLICA, State.BEHIND, 1.5)
    assert other.newest_answered == 12
    assert other.status(REPLICA) == (State.BEHIND, shared_state.NO_BLOCK, 1.5)
