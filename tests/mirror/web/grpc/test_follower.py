"""What the follower reads: each topic onwards from where it is, many topics in small pages."""

import asyncio
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest
from django.db import connection

from ledger.queries import topics as queries
from mirror.core.db import notifications
from mirror.web.grpc import follower
from mirror.web.grpc.follower import Follower
from mirror.web.grpc.messages import Delivery
from mirror.web.grpc.reading import ReadingThreads
from tests.build import SECOND, START
from tests.grpc_client import TOPIC, Client
from tests.mirror.web.grpc.serving import Served, add, topic
from tests.waiting import wait_until

OK = ("OK", "")
# How long a read waits for its turn where it has none.
_TURN_SECONDS = 20.0


def at(number: int) -> int:
    return START + number * SECOND


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[tuple[dict[int, int], int]]:
    """Positions and page of each read of the follower."""
    read: list[tuple[dict[int, int], int]] = []
    original = queries.messages_after

    def messages_after(positions: Mapping[int, int], limit: int) -> list[queries.Message]:
        read.append((dict(positions), limit))
        return original(positions, limit)

    monkeypatch.setattr(queries, "messages_after", messages_after)
    return read


@pytest.mark.parametrize(
    "other",
    [
        {"end": START},
        {"end": at(1)},
        {"end": at(3)},
        {"start": at(5), "end": at(6)},
        {"limit": 2},
        {"start": None},
        {"start": 0},
    ],
    ids=str,
)
def test_a_topic_is_never_read_again_because_of_another_subscriber(
    reads: list[tuple[dict[int, int], int]], server: Served, client: Client, other: dict[str, Any]
) -> None:
    topic(1, 2, 3, 4)
    live = client.subscribe(limit=6)
    live.has(4)
    wait_until(lambda: server.is_following)

    stream = client.subscribe(**other)
    if other.keys() & {"end", "limit"}:
        assert stream.ended() == OK
    else:
        wait_until(lambda: server.open == 2)
        connected = client.subscribe(limit=1)
        assert connected.ended() == OK
    for number in (5, 6):
        add(number)
        with connection.cursor() as cursor:
            notifications.notify(cursor)
        live.has(number)

    assert live.ended() == OK
    assert {positions[TOPIC] for positions, _ in reads if TOPIC in positions} <= {at(4), at(5), at(6)}
    stream.call.cancel()


@pytest.mark.parametrize("end", [1, at(2), at(3), at(100)])
def test_a_subscription_whose_end_has_passed_does_not_join(
    monkeypatch: pytest.MonkeyPatch, client: Client, end: int
) -> None:
    joined = list[Any]()
    monkeypatch.setattr(Follower, "join", lambda self, subscriber, newest: joined.append(subscriber))
    topic(1, 2, 3)
    assert client.subscribe(end=end).ended() == OK
    assert joined == []


class Listener:
    """A subscriber that notes what it is offered."""

    def __init__(self, topic_id: int) -> None:
        self.topic_id, self.has_left = topic_id, False
        self.numbers: list[int] = []

    def offer(self, deliveries: Sequence[Delivery]) -> None:
        self.numbers += [each.sequence_number for each in deliveries]


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    loop = asyncio.new_event_loop()
    yield loop
    loop.close()


@pytest.fixture
def following(transactional_db: None, loop: asyncio.AbstractEventLoop) -> Follower:
    """A follower that reads when the test says so."""
    return Follower(loop, ReadingThreads(), lambda is_healthy: None)


def test_a_topic_that_is_left_and_joined_during_a_read_does_not_go_back(
    monkeypatch: pytest.MonkeyPatch, following: Follower
) -> None:
    topic(1, 2, 3)
    first, second = Listener(TOPIC), Listener(TOPIC)
    following.join(first, at(1))
    original = queries.messages_after

    def messages_after(positions: Mapping[int, int], limit: int) -> list[queries.Message]:
        messages = original(positions, limit)
        add(4)
        following.leave(first)
        following.join(second, at(4))
        return messages

    monkeypatch.setattr(queries, "messages_after", messages_after)
    following._read()

    assert following._topics[TOPIC].position == at(4)


def test_many_topics_have_small_pages_and_busy_ones_one_more(
    monkeypatch: pytest.MonkeyPatch,
    reads: list[tuple[dict[int, int], int]],
    following: Follower,
    loop: asyncio.AbstractEventLoop,
) -> None:
    monkeypatch.setattr(follower, "_MAX_MESSAGES", 40)
    quiet = [topic(1, topic_id=TOPIC + number) for number in range(1, 20)]
    busy = topic(*range(1, 60))
    listeners = [Listener(topic_id) for topic_id in (*quiet, busy)]
    for listener in listeners:
        following.join(listener, -1)

    while following._read():
        pass
    loop.call_soon(loop.stop)
    loop.run_forever()

    assert [listener.numbers for listener in listeners] == [[1]] * 19 + [list(range(1, 60))]
    assert [(len(positions), page) for positions, page in reads] == [
        (20, 2),
        (1, 40),
        (20, 2),
        (1, 40),
        (20, 2),
    ]


def test_reads_of_a_client_leave_the_next_turn_to_others(loop: asyncio.AbstractEventLoop) -> None:
    threads, other_has_read = ReadingThreads(), threading.Event()

    async def read_all() -> list[bool | None]:
        # The first ends at once. The others end after the read of the other client, which needs a thread.
        many = [threads.run("192.0.2.1", lambda: True)]
        many += [threads.run("192.0.2.1", lambda: other_has_read.wait(_TURN_SECONDS)) for _ in range(40)]
        *read, _ = await asyncio.gather(*many, threads.run("192.0.2.2", other_has_read.set))
        return read

    read = loop.run_until_complete(read_all())
    threads.close()

    assert read == [True] * 41
