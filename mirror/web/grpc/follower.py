"""The follower: reads the new messages of all subscribed topics once, and hands them to subscribers.

It learns of commits by notification, and looks once a second in case none arrives. What it hands over may
lack messages, such as those of a topic that are committed after a later one: subscribers compare sequence
numbers, and read from the database what they lack (`mirror.web.grpc.subscription`). Its position in a topic
only moves forward: what is older than the newest message when a subscriber joins, the subscriber reads.
"""

import asyncio
import threading
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from django.db import connection

from ledger.queries import topics as queries
from mirror.core import logs
from mirror.core.db import replicas
from mirror.core.db.notifications import CommitListener
from mirror.core.db.reading import sql
from mirror.web.grpc.messages import Delivery, delivery
from mirror.web.grpc.reading import DatabaseUnavailable, ReadingThreads

log = logs.logger("mirror.grpc")

_POLL_SECONDS, _AWAY_SECONDS = 1.0, 0.5
# A replica has what is notified a little later.
_REPLICA_POLL_SECONDS = 0.1
# Messages of each topic that are read at a time, and of all topics together. Each number is a statement of
# its own.
_PAGES, _MAX_MESSAGES = (200, 40, 8, 2), 4000


class Subscriber(Protocol):
    """What gets the new messages of a topic; `offer` is called in the event loop."""

    topic_id: int
    #: Whether it has left; it may have been about to join.
    has_left: bool

    def offer(self, deliveries: Sequence[Delivery]) -> None: ...


class _Topic:
    """A topic with subscribers; `position` is the consensus time up to which it has been read."""

    def __init__(self, position: int) -> None:
        self.position = position
        self.subscribers: set[Subscriber] = set()


class Follower:
    """Reads in a thread of its own; `healthy` is called in the loop when the database goes or comes back."""

    def __init__(
        self, loop: asyncio.AbstractEventLoop, threads: ReadingThreads, healthy: Callable[[bool], None]
    ) -> None:
        self._loop, self._threads, self._healthy = loop, threads, healthy
        self._lock = threading.Lock()
        self._topics: dict[int, _Topic] = {}
        self._stopping = threading.Event()
        self._is_healthy = True
        self._thread = threading.Thread(target=self._run, name="follower", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def stop(self) -> None:
        """End the thread, which may take as long as it waits for a notification."""
        self._stopping.set()
        self._thread.join()

    def join(self, subscriber: Subscriber, newest: int) -> None:
        """Hand over to a subscriber what is committed from now on.

        `newest` is the consensus time of the topic's newest message. It is where the topic of a first
        subscriber is read from; further subscribers don't change the position.
        """
        with self._lock:
            if not subscriber.has_left:
                self._topics.setdefault(subscriber.topic_id, _Topic(newest)).subscribers.add(subscriber)

    def leave(self, subscriber: Subscriber) -> None:
        with self._lock:
            subscriber.has_left = True
            if topic := self._topics.get(subscriber.topic_id):
                topic.subscribers.discard(subscriber)
                if not topic.subscribers:
                    del self._topics[subscriber.topic_id]

    # IN THE THREAD

    def _run(self) -> None:
        listener = CommitListener()
        while not self._stopping.is_set():
            try:
                has_more = self._threads.call(self._read)
            except DatabaseUnavailable:
                self._set_healthy(False)
                self._stopping.wait(_AWAY_SECONDS)
                continue
            except Exception:
                log.error("unexpected_error", exc_info=True)
                self._stopping.wait(_POLL_SECONDS)
                continue
            self._set_healthy(True)
            if not has_more:
                listener.wait(_REPLICA_POLL_SECONDS if replicas.are_read() else _POLL_SECONDS)
        listener.close()
        connection.close()

    def _read(self) -> bool:
        """Hand over what is new; return whether there may be more at once. Errors: psycopg.Error."""
        with self._lock:
            positions = {topic_id: topic.position for topic_id, topic in self._topics.items()}
        if not positions:
            # Whether the database answers.
            sql.fetch_one("select 1")
            return False
        if not (unfinished := self._hand_over(positions)):
            return False
        # Topics with many new messages have a larger page among themselves; then all have their turn again.
        self._hand_over(unfinished)
        return True

    def _hand_over(self, positions: Mapping[int, int]) -> dict[int, int]:
        """Hand over the next messages of topics; return the positions of topics that may have more."""
        page = next((size for size in _PAGES if size * len(positions) <= _MAX_MESSAGES), _PAGES[-1])
        new: dict[int, list[Delivery]] = defaultdict(list)
        for message in queries.messages_after(positions, page):
            new[message.topic_id].append(delivery(message))
        delivered: list[tuple[list[Subscriber], list[Delivery]]] = []
        with self._lock:
            for topic_id, deliveries in new.items():
                if topic := self._topics.get(topic_id):
                    # The topic may have got new subscribers, and with them a later position, meanwhile.
                    topic.position = max(topic.position, deliveries[-1].consensus_timestamp)
                    delivered.append((list(topic.subscribers), deliveries))
            unfinished = {
                topic_id: self._topics[topic_id].position
                for topic_id, deliveries in new.items()
                if len(deliveries) == page and topic_id in self._topics
            }
        if delivered:
            self._loop.call_soon_threadsafe(_deliver, delivered)
        return unfinished

    def _set_healthy(self, is_healthy: bool) -> None:
        if is_healthy != self._is_healthy:
            self._is_healthy = is_healthy
            self._loop.call_soon_threadsafe(self._healthy, is_healthy)


def _deliver(delivered: Sequence[tuple[Sequence[Subscriber], Sequence[Delivery]]]) -> None:
    for subscribers, deliveries in delivered:
        for subscriber in subscribers:
            subscriber.offer(deliveries)
