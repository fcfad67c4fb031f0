"""The gRPC server under load: stored messages, new ones to many subscribers, and its memory.

    python -m tests.benchmarks.grpc [--stored 100000] [--live 100] [--subscribers 200] [--most 1000]

starts a node with a gRPC server and a database of its own, fills a topic, and prints of each case the
messages a second, the processor time of the server for each delivery, and the delay from a commit to its
deliveries. The clients run in this process, on the same machine: the processor time says more than the rate.
`--faults` loads 1,000 messages a second for a minute to 100 topics with 1,000 subscribers, kills the server
five times and PostgreSQL once, and ends once every subscriber has had every message, once and in order. Ten
requests a second are made of the REST API meanwhile, and before it.
"""

import argparse
import asyncio
import itertools
import os
import shutil
import signal
import tempfile
import threading
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path
from typing import Any

import grpc
import psutil
import psycopg

from mirror.core.processes import process_table
from mirror.core.values.hapi import messages as hapi
from mirror.node.postgres.cluster import DATABASE
from mirror.node.postgres.installation import PORT
from tests.node import Node, free_port

_SUBSCRIBE = "/com.hedera.mirror.api.proto.ConsensusService/subscribeTopic"
_TOPIC = 7001
_INSERT = """
    insert into topic_message (topic_id, sequence_number, consensus_timestamp, message, running_hash,
        running_hash_version, payer_account_id, valid_start_timestamp)
    select %(topic)s, n, %(first)s + n, %(message)s, sha256('') || sha256(''), 3, 1001, n
    from generate_series(%(from)s::bigint, %(to)s) n"""


class Server:
    """The process of the server, and a connection to its database."""

    def __init__(self, folder: Path) -> None:
        self.node, self.port = Node(folder), free_port()
        self.node.start(
            SVC_MIRROR_NETWORK="testnet",
            SVC_MIRROR_REST_CACHE_RESPONSE_ENABLED="false",
            SVC_MIRROR_GRPC_PORT=str(self.port),
            SVC_MIRROR_GRPC_MAXSUBSCRIPTIONS="5000",
        )
        self.session = self.connect()

    def connect(self) -> "psycopg.Connection[Any]":
        return psycopg.connect(
            host=str(self.node.server.paths.socket),
            port=PORT,
            user="mirror_node",
            dbname=DATABASE,
            autocommit=True,
        )

    @property
    def pid(self) -> int:
        """The process of the gRPC server; 0 while it starts again."""
        return next((pid for pid in self.node.processes() if "gRPC-server" in process_table.command(pid)), 0)

    def add_topic(self, topic: int) -> None:
        self.session.execute(
            "insert into entity (id, num, realm, shard, type, timestamp_range) "
            "values (%s, %s, 0, 0, 'TOPIC', '[0,)')",
            [topic, topic],
        )

    def add(self, topic: int, first: int, last: int, at: int) -> None:
        """Commit messages of these numbers as the loader does."""
        values = {"topic": topic, "first": at, "message": b"x" * 100, "from": first, "to": last}
        with self.session.transaction():
            self.session.execute(_INSERT, values)
            self.session.execute("notify mirror_commit")

    @property
    def seconds(self) -> float:
        """The processor time of the server so far."""
        times = psutil.Process(self.pid).cpu_times()
        return float(times.user + times.system)

    @property
    def megabytes(self) -> float:
        return float(psutil.Process(self.pid).memory_info().rss / 1e6)


class Subscribers:
    """Subscriptions that count what they get, five of a connection, in one event loop in a thread.

    Without a thread of each, and without decoding, clients take less of the machine than the server does.
    """

    def __init__(self, port: int, topics: list[int], start: int, limit: int = 0) -> None:
        self.counts = [0] * len(topics)
        self.delays: list[float] = []
        # When the message of a number was committed, which is also its place in each subscription.
        self.committed: dict[int, float] = {}
        self._loop = asyncio.new_event_loop()
        self._all = self._loop.create_task(self._read_all(port, topics, start, limit))
        self.thread = threading.Thread(target=self._run, daemon=True)
        self.thread.start()

    def _run(self) -> None:
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._all)

    async def _read_all(self, port: int, topics: list[int], start: int, limit: int) -> None:
        options = [("grpc.use_local_subchannel_pool", 1)]
        channels = [grpc.aio.insecure_channel(f"127.0.0.1:{port}", options) for _ in topics[::5]]
        try:
            await asyncio.gather(
                *(
                    self._read(place, channels[place // 5], self._query(topic, start, limit))
                    for place, topic in enumerate(topics)
                )
            )
        finally:
            for channel in channels:
                await channel.close()

    def _query(self, topic: int, start: int, limit: int) -> bytes:
        query = hapi.ConsensusTopicQuery(topicID=hapi.TopicID(topicNum=topic), limit=limit)
        query.consensusStartTime.seconds = start
        return bytes(query.SerializeToString())

    async def _read(self, place: int, channel: Any, query: bytes) -> None:
        try:
            async for _ in channel.unary_stream(_SUBSCRIBE)(query):
                self.counts[place] += 1
                if at := self.committed.get(self.counts[place]):
                    self.delays.append(time.monotonic() - at)
        except grpc.RpcError as error:
            print("  a subscription ended:", error.code(), error.details())

    def wait(self, each: int) -> None:
        while min(self.counts) < each:
            time.sleep(0.02)

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._all.cancel)
        self.thread.join()


def stored(server: Server, subscribers: int, each: int) -> None:
    before, began = server.seconds, time.monotonic()
    reading = Subscribers(server.port, [_TOPIC] * subscribers, 0, each)
    reading.thread.join()
    took, deliveries = time.monotonic() - began, subscribers * each
    assert reading.counts == [each] * subscribers, reading.counts
    processor = (server.seconds - before) / deliveries * 1e6
    print(
        f"{each:,} stored to each of {subscribers}: {deliveries / took:,.0f}/s, {processor:.0f} µs of "
        f"processor time a delivery, {server.megabytes:.0f} MB"
    )


def live(server: Server, subscribers: int, topics: int, messages: int, pause: float) -> None:
    """New messages, one to each topic at a time, to all subscribers; the topics are new."""
    numbers = list(range(8000 + subscribers, 8000 + subscribers + topics))
    for topic in numbers:
        server.add_topic(topic)
    chosen = [numbers[place % topics] for place in range(subscribers)]
    reading = Subscribers(server.port, chosen, int(time.time()) - 60)
    at = time.time_ns()
    for topic in numbers:
        server.add(topic, 1, 1, at)
    reading.wait(1)
    memory, before = server.megabytes, server.seconds
    for number in range(2, messages + 2):
        reading.committed[number] = time.monotonic()
        with server.session.transaction():
            for topic in numbers:
                values = {"topic": topic, "first": at, "message": b"x" * 100, "from": number, "to": number}
                server.session.execute(_INSERT, values)
            server.session.execute("notify mirror_commit")
        time.sleep(pause)
    reading.wait(messages + 1)
    processor = (server.seconds - before) / (subscribers * messages) * 1e6
    delays = sorted(reading.delays)
    print(
        f"{messages} new in each of {topics} topics to {subscribers} subscribers: p50 "
        f"{delays[len(delays) // 2] * 1e3:.0f} ms, p95 {delays[len(delays) * 95 // 100] * 1e3:.0f} ms, p99 "
        f"{delays[len(delays) * 99 // 100] * 1e3:.0f} ms, {processor:.0f} µs of processor time a delivery, "
        f"{memory:.0f} MB with all streams open, {server.megabytes:.0f} MB after it"
    )
    reading.close()


class Resuming(Subscribers):
    """Subscriptions that go on after an error from the last message they have, as those of SDKs do."""

    async def _read(self, place: int, channel: Any, query: bytes) -> None:
        wanted = hapi.ConsensusTopicQuery.FromString(query)
        while True:
            try:
                async for data in channel.unary_stream(_SUBSCRIBE)(wanted.SerializeToString()):
                    message = hapi.ConsensusTopicResponse.FromString(data)
                    self.counts[place] += 1
                    assert message.sequenceNumber == self.counts[place], "not once and in order"
                    wanted.consensusStartTime.CopyFrom(message.consensusTimestamp)
                    wanted.consensusStartTime.nanos += 1
                    if at := self.committed.get(message.sequenceNumber):
                        self.delays.append(time.monotonic() - at)
            except grpc.RpcError:
                await asyncio.sleep(0.5)


class Reads:
    """Requests of the REST API, ten a second, in a thread: their durations and unusual statuses."""

    def __init__(self, node: Node, topic: int) -> None:
        self._node = node
        self._paths = (f"/api/v1/topics/{topic}/messages?limit=25", "/api/v1/blocks", "/api/v1/network/nodes")
        self._stopping = threading.Event()
        self._seconds: list[float] = []
        self._others = Counter[int]()
        self._thread = threading.Thread(target=self._read)
        self._thread.start()

    def _read(self) -> None:
        for number in itertools.count():
            began = time.monotonic()
            status, _ = self._node.get(self._paths[number % len(self._paths)])
            if status == 200:
                self._seconds.append(time.monotonic() - began)
            else:
                self._others[status] += 1
            if self._stopping.wait(0.1):
                return

    def end(self) -> str:
        self._stopping.set()
        self._thread.join()
        seconds = sorted(self._seconds)
        p50, p99 = (seconds[len(seconds) * share // 100] * 1e3 for share in (50, 99))
        return f"{len(seconds)} requests p50 {p50:.0f} ms, p99 {p99:.0f} ms, others {dict(self._others)}"


def faults(server: Server, subscribers: int, topics: int, rate: int, seconds: int, kills: int) -> None:
    """New messages while the server is killed, `kills` times, and PostgreSQL once in the middle."""
    numbers = list(range(20_000, 20_000 + topics))
    for topic in numbers:
        server.add_topic(topic)
    reading = Resuming(
        server.port, [numbers[each % topics] for each in range(subscribers)], int(time.time()) - 60
    )
    reads = Reads(server.node, numbers[0])
    time.sleep(10)
    print(f"REST API with the subscriptions alone: {reads.end()}")
    reads = Reads(server.node, numbers[0])
    first, batch, at = time.time_ns(), rate // topics, time.monotonic()
    victims = {round(seconds * (kill + 0.5) / kills): "gRPC" for kill in range(kills)}
    victims[seconds // 2 + 1] = "PostgreSQL"
    killed = Counter[str]()
    for second in range(seconds):
        last = (second + 1) * batch
        reading.committed |= dict.fromkeys(range(last - batch + 1, last + 1), time.monotonic())
        _commit(server, numbers, first, last - batch + 1, last)
        victim = victims.get(second, "")
        pid = {"gRPC": lambda: server.pid, "PostgreSQL": server.node.server.pid}.get(victim, int)()
        if pid:
            os.kill(pid, signal.SIGKILL)
            killed[victim] += 1
        time.sleep(max(0.0, at + second + 1 - time.monotonic()))
    print(f"REST API under the load: {reads.end()}")
    reading.wait(seconds * batch)
    delays = sorted(reading.delays)
    print(
        f"{rate} new a second in {topics} topics for {seconds} s to {subscribers} subscribers, killed: "
        f"{dict(killed)}; each once and in order, p50 {delays[len(delays) // 2] * 1e3:.0f} ms, p99 "
        f"{delays[len(delays) * 99 // 100] * 1e3:.0f} ms, {server.megabytes:.0f} MB, all sent "
        f"{time.monotonic() - at - seconds:.1f} s after the last"
    )
    reading.close()


def _commit(server: Server, topics: list[int], first: int, start: int, end: int) -> None:
    """Commit messages of all topics at once; again where PostgreSQL was killed before that."""
    while True:
        try:
            with server.session.transaction():
                for topic in topics:
                    values = {"topic": topic, "first": first, "message": b"x" * 100, "from": start, "to": end}
                    server.session.execute(_INSERT, values)
                server.session.execute("notify mirror_commit")
            return
        except psycopg.OperationalError:
            time.sleep(0.2)
            with suppress(psycopg.OperationalError):
                server.session = server.connect()
        except psycopg.errors.UniqueViolation:
            return


def slow(server: Server, stored_messages: int) -> None:
    """Twenty clients that read nothing of all that is stored."""
    before = server.megabytes
    channels, calls = [], []
    for _ in range(20):
        channel = grpc.insecure_channel(
            f"127.0.0.1:{server.port}",
            [
                ("grpc.use_local_subchannel_pool", 1),
                ("grpc.http2.bdp_probe", 0),
                ("grpc.http2.lookahead_bytes", 65_535),
            ],
        )
        query = hapi.ConsensusTopicQuery(topicID=hapi.TopicID(topicNum=_TOPIC))
        query.consensusStartTime.SetInParent()
        calls.append(channel.unary_stream(_SUBSCRIBE)(query.SerializeToString()))
        channels.append(channel)
        next(calls[-1])
    server.add(_TOPIC, stored_messages + 1, stored_messages + 20_000, 0)
    time.sleep(5)
    print(f"20 clients that do not read: {(server.megabytes - before) / 20:.2f} MB each")
    for call, channel in zip(calls, channels, strict=True):
        call.cancel()
        channel.close()


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--stored", type=int, default=100_000)
    parser.add_argument("--live", type=int, default=100)
    parser.add_argument("--subscribers", type=int, default=200)
    parser.add_argument("--most", type=int, default=1000)
    parser.add_argument(
        "--faults", action="store_true", help="kill the server and PostgreSQL meanwhile, only"
    )
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-grpc-"))
    folder.chmod(0o755)
    server = Server(folder)
    try:
        server.add_topic(_TOPIC)
        server.add(_TOPIC, 1, options.stored, 0)
        if options.faults:
            faults(server, options.most, 100, 1000, 60, 5)
            return
        print(f"{server.megabytes:.0f} MB without subscribers, load {os.getloadavg()[0]:.1f}")
        stored(server, 1, min(options.stored, 1000))
        stored(server, 1, options.stored)
        stored(server, 50, min(options.stored, 1000))
        slow(server, options.stored)
        live(server, 1, 1, options.live, 0.1)
        live(server, options.subscribers, 1, options.live, 0.2)
        live(server, options.most, 100, options.live // 2, 1.0)
    finally:
        server.session.close()
        server.node.stop(signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
