"""A gRPC server in a thread of the test."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.db import connection

from mirror.web.grpc.server import Server
from tests.build import SECOND, START, Build
from tests.grpc_client import TOPIC
from tests.waiting import PATIENCE_SECONDS


class Served:
    """A server that runs in a thread."""

    def __init__(self) -> None:
        self.server: Server
        self.port = 0
        self._loop = asyncio.new_event_loop()
        self._started, self._stopping = threading.Event(), asyncio.Event()
        self._thread = threading.Thread(target=lambda: self._loop.run_until_complete(self._serve()))
        self._thread.start()
        assert self._started.wait(PATIENCE_SECONDS)

    async def _serve(self) -> None:
        try:
            self.server = Server()
            self.port = await self.server.start("127.0.0.1:0")
        finally:
            self._started.set()
        await self._stopping.wait()
        await self.server.stop()

    @property
    def open(self) -> int:
        """The number of open subscriptions."""
        return len(self.server._subscriptions)

    @property
    def is_following(self) -> bool:
        """Whether the follower has something to read."""
        return bool(self.server._follower._topics)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._stopping.set)
        self._thread.join()


@contextmanager
def served() -> Iterator[Served]:
    server = Served()
    try:
        yield server
    finally:
        server.stop()
        connection.close()


def topic(*numbers: int, topic_id: int = TOPIC, **columns: Any) -> int:
    """Store a topic with messages of these numbers, each in the second of its number; return its id."""
    Build().entity(topic_id, type="TOPIC")
    add(*numbers, topic_id=topic_id, **columns)
    return topic_id


def add(*numbers: int, topic_id: int = TOPIC, at: int | None = None, **columns: Any) -> None:
    for number in numbers:
        time = START + number * SECOND if at is None else at + number
        Build().message(topic_id, number, at=time, **columns)
