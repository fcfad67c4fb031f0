"""A gRPC server in a thread of the test, and a client of it, as SDKs make them."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import grpc
from django.db import connection

from mirror.core.values.hapi import messages as hapi
from mirror.web.grpc.server import NETWORK, TOPICS, Server
from tests.build import SECOND, START, Build
from tests.waiting import PATIENCE_SECONDS, wait_until

SUBSCRIBE, GET_NODES = f"/{TOPICS}/subscribeTopic", f"/{NETWORK}/getNodes"
#: The number of the first topic of a test.
TOPIC = 7001


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


class Stream:
    """A call whose answers are read in a thread: a status once it has ended."""

    def __init__(self, call: Any, kind: Any) -> None:
        self.call, self._kind = call, kind
        self.messages: list[Any] = []
        self.code: grpc.StatusCode | None = None
        self.details = ""
        self._thread = threading.Thread(target=self._read, daemon=True)
        self._thread.start()

    def _read(self) -> None:
        try:
            for data in self.call:
                self.messages.append(self._kind.FromString(data))
        except grpc.RpcError:
            pass
        self.code, self.details = self.call.code(), self.call.details()

    @property
    def numbers(self) -> list[int]:
        return [message.sequenceNumber for message in self.messages]

    def has(self, count: int) -> None:
        """Wait for so many messages."""
        wait_until(lambda: len(self.messages) >= count or self.code, lambda: self.numbers)
        assert len(self.messages) >= count, (self.code, self.details)

    def ended(self) -> tuple[str, str]:
        """Wait for the end; return status and text."""
        wait_until(lambda: not self._thread.is_alive(), lambda: self.numbers)
        assert self.code is not None
        return self.code.name, self.details


class Client:
    """A client with a connection of its own."""

    def __init__(self, port: int) -> None:
        # By default a client takes more and more before it is read.
        options = [
            ("grpc.use_local_subchannel_pool", 1),
            ("grpc.http2.bdp_probe", 0),
            ("grpc.http2.lookahead_bytes", 65_535),
        ]
        self.channel = grpc.insecure_channel(f"127.0.0.1:{port}", options)

    def call(self, method: str, request: bytes, kind: Any, **options: Any) -> Stream:
        return Stream(self.channel.unary_stream(method)(request, **options), kind)

    def subscribe(self, topic: int | None = TOPIC, **fields: Any) -> Stream:
        return self.call(SUBSCRIBE, topic_query(topic, **fields), hapi.ConsensusTopicResponse)

    def nodes(self, file: int | None = 102, **fields: Any) -> Stream:
        file_id = None if file is None else hapi.FileID(fileNum=file)
        query = hapi.AddressBookQuery(file_id=file_id, **fields)
        return self.call(GET_NODES, query.SerializeToString(), hapi.NodeAddress)


def topic_query(
    topic: int | None = TOPIC, start: int | None = 0, end: int | None = None, limit: int = 0
) -> bytes:
    """Return a query; `start` and `end` are nanoseconds."""
    query = hapi.ConsensusTopicQuery(limit=limit)
    if topic is not None:
        query.topicID.topicNum = topic
    for field, nanoseconds in ((query.consensusStartTime, start), (query.consensusEndTime, end)):
        if nanoseconds is not None:
            field.seconds, field.nanos = divmod(nanoseconds, SECOND)
            field.SetInParent()
    return bytes(query.SerializeToString())


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
