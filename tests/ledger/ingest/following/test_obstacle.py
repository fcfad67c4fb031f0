"""How long a follower waits before it tries again."""

from ledger.ingest.following.obstacle import Obstacle
from ledger.stream.errors import StreamFileError

AWAY = StreamFileError("block nodes", 0, "away")


def test_pauses_grow_up_to_the_longest_one():
    obstacle, pauses = Obstacle(0.1, 2.0, None), []

    for _ in range(7):
        obstacle.note(AWAY)
        pauses.append(obstacle.pause)

    assert pauses == [0.1, 0.2, 0.4, 0.8, 1.6, 2.0, 2.0]
    assert obstacle.problem is AWAY


def test_after_its_end_the_pause_is_the_shortest_again():
    obstacle = Obstacle(0.1, 2.0, None)
    assert obstacle.pause == 0.1
    for _ in range(3):
        obstacle.note(AWAY)

    obstacle.end()

    assert (obstacle.pause, obstacle.problem) == (0.1, None)
    obstacle.note(AWAY)
    assert obstacle.pause == 0.1
