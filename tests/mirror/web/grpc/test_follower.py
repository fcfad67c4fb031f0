"""The follower: new messages, read once for all subscribers of their topics."""

import asyncio
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import pytest

from mirror.web.grpc.deliveries import Delivery
from mirror.web.grpc.follower import Follower
from mirror.web.grpc.reading import ReadingThreads
from tests.build import SECOND, START
from tests.mirror.web.grpc.serving import TOPIC, add, topic
from tests.waiting import wait_until


@dataclass(eq=False)
class Reader:
    """A subscriber that keeps the numbers of what it gets."""

    topic_id: int = TOPIC
    has_left: bool = False
    numbers: list[int] = field(default_factory=list)

    def offer(self, deliveries: Sequence[Delivery]) -> None:
        self.numbers.extend(each.sequence_number for each in deliveries)


@pytest.fixture
def follower(transactional_db: None) -> Iterator[Follower]:
    loop, threads = asyncio.new_event_loop(), ReadingThreads()
    running = threading.Thread(target=loop.run_forever)
    running.start()
    follower = Follower(loop, threads, lambda is_healthy: None)
    follower.start()
    yield follower
    follower.stop()
    loop.call_soon_threadsafe(loop.stop)
    running.join()
    threads.close()
    loop.close()


def at(number: int) -> int:
    """Return the consensus time of a message."""
    return START + number * SECOND


def test_subscribers_of_a_topic_get_what_is_committed_after_their_position(follower: Follower) -> None:
    topic()
    add(1)
    add(2)
    reader, of_another_topic = Reader(), Reader(TOPIC + 1)
    follower.join(of_another_topic, 0)
    follower.join(reader, at(1))
    wait_until(lambda: reader.numbers == [2])

    add(3)

    wait_until(lambda: reader.numbers == [2, 3])
    assert of_another_topic.numbers == []


def test_subscriber_that_is_less_far_has_the_topic_read_again(follower: Follower) -> None:
    topic()
    add(1)
    add(2)
    further, less_far = Reader(), Reader()
    follower.join(further, at(1))
    wait_until(lambda: further.numbers == [2])

    follower.join(less_far, 0)

    wait_until(lambda: less_far.numbers == [1, 2])
    # Subscribers compare sequence numbers, and drop what they have.
    assert further.numbers == [2, 1, 2]


def test_subscriber_that_has_left_gets_nothing(follower: Follower) -> None:
    topic()
    left, never_joined, stays = Reader(), Reader(has_left=True), Reader()
    for each in (left, never_joined, stays):
        follower.join(each, 0)
    follower.leave(left)

    add(1)

    wait_until(lambda: stays.numbers == [1])
    assert left.numbers == never_joined.numbers == []
