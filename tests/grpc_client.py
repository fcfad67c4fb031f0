"""A client of the gRPC API, as SDKs make them, and a writer of topics for a node in processes of its own."""

import threading
import time
from typing import Any, Self

import grpc
import psycopg

from mirror.core.values.hapi import messages as hapi
from mirror.node.postgres.cluster import DATABASE
from mirror.node.postgres.installation import PORT
from tests.node import Node
from tests.waiting import wait_until

_PACKAGE = "com.hedera.mirror.api.proto"
TOPICS, NETWORK = f"{_PACKAGE}.ConsensusService", f"{_PACKAGE}.NetworkService"
SUBSCRIBE, GET_NODES = f"/{TOPICS}/subscribeTopic", f"/{NETWORK}/getNodes"
#: The number of the first topic of a test.
TOPIC = 7001

_SECOND = 1_000_000_000
# The time of a topic's message 0.
_START = 1_700_000_000 * _SECOND
_MESSAGES = """
    insert into topic_message (topic_id, sequence_number, consensus_timestamp, message, running_hash)
    select %s, n, %s + n, %s, sha256('') || sha256('') from generate_series(%s::bigint, %s) n"""


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
            field.seconds, field.nanos = divmod(nanoseconds, _SECOND)
            field.SetInParent()
    return bytes(query.SerializeToString())


class TopicWriter:
    """Writes messages of a topic, each at the time of its number."""

    def __init__(self, node: Node) -> None:
        self._session = psycopg.connect(
            host=str(node.server.paths.socket),
            port=PORT,
            user="mirror_node",
            dbname=DATABASE,
            autocommit=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._session.close()

    def time(self, number: int) -> int:
        return _START + number

    def add_topic(self, topic: int, messages: int, size: int = 100) -> None:
        self._session.execute(
            "insert into entity (id, num, realm, shard, type, timestamp_range) "
            "values (%s, %s, 0, 0, 'TOPIC', '[0,)')",
            [topic, topic],
        )
        self.add(topic, 1, messages, size)

    def add(self, topic: int, first: int, last: int, size: int = 100) -> None:
        with self._session.transaction():
            self._session.execute(_MESSAGES, (topic, _START, b"x" * size, first, last))
            self._session.execute("notify mirror_commit")

    def messages_read(self) -> int:
        """Return the messages that all sessions have read by an index so far."""
        # Sessions report once a second.
        time.sleep(1.5)
        row = self._session.execute(
            "select sum(idx_tup_fetch) from pg_stat_user_tables where relname ~ '^topic_message(_|$)'"
        ).fetchone()
        assert row
        return int(row[0])
