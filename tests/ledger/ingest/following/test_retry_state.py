"""How long a follower waits before it tries again."""

from ledger.ingest.following.follower import RetryState
from ledger.stream.errors import StreamFileError

AWAY = StreamFileError("block nodes", 0, "away")


def test_pauses_grow_up_to_the_longest_one():
    retry, pauses = RetryState(0.1, 2.0, None), []

    for _ in range(7):
        retry.note(AWAY)
        pauses.append(retry.pause)

    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert retry.problem is AWAY


def test_after_its_end_the_pause_is_the_shortest_again():
    retry = RetryState(0.1, 2.0, None)
    assert retry.pause == 0.1
    for _ in range(3):
        retry.note(AWAY)

    retry.end()

    assert (retry.pause, retry.problem) == (0.1, None)
    retry.note(AWAY)
    assert retry.pause == 0.1
