"""Measuring how soon block nodes have blocks."""

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from ledger.stream.source.block_node.assembly import Limits
from ledger.stream.source.block_node.client import BlockNode, BlockNodeClient, Endpoint
from ledger.stream.source.block_node.scheduler import LatencyMeter, Measuring, Order, Rules, Scheduler
from mirror.demo.publish.block_node import BlockNodeServer
from tests.ledger.stream.block.blocks import START, BlockStream
from tests.waiting import PATIENCE_SECONDS

SECOND = 10**9
NOW = START + 1_000 * SECOND
AWAY = BlockNode(Endpoint("127.0.0.1", 1), Endpoint("127.0.0.1", 1))


class AboutToSend(BlockNodeServer):
    """A block node that says that its last block is still to come."""

    def status(self, request: Any, context: Any) -> Any:
        status = super().status(request, context)
        status.last_available_block -= 1
        return status


class Nodes:
    """Two block nodes, the number of the next block, and the meter of their latencies."""

    def __init__(self, servers: list[BlockNodeServer]) -> None:
        self.number = 7
        self.servers = servers
        self.one, self.other = nodes = [
            BlockNode(Endpoint("127.0.0.1", each.port), Endpoint("127.0.0.1", each.port)) for each in servers
        ]
        self.clients = {node: BlockNodeClient(node, Limits()) for node in (*nodes, AWAY)}
        self.scheduler = Scheduler(
            lambda: [*nodes, AWAY], lambda node: self.clients[node].poll(5), Rules(Order.LATENCY)
        )
        self.scheduler.ordered()
        self.followed: BlockNode | None = AWAY

    def meter(self, backlog: int = 5) -> LatencyMeter:
        measuring = Measuring(interval=PATIENCE_SECONDS, timeout=PATIENCE_SECONDS, backlog=backlog)
        return LatencyMeter(self.scheduler, self.clients.__getitem__, lambda: self.followed, measuring)

    def send(self, *seconds_ago: int) -> None:
        """Let each node have the next block, which has ended so long ago."""
        for server, seconds in zip(self.servers, seconds_ago, strict=True):
            stream = BlockStream(first_block=self.number)
            stream.consensus_timestamp = NOW - seconds * SECOND
            stream.happen("cryptoTransfer")
            server.publish(self.number, stream.block().content)
        self.number += 1

    @property
    def latencies(self) -> list[float | None]:
        known = {each["name"]: each["latency_ms"] for each in self.scheduler.status(None)}
        return [
            None if known[node.name] is None else known[node.name] / 1000 for node in (self.one, self.other)
        ]


@pytest.fixture
def nodes(settings_of: Any) -> Iterator[Nodes]:
    settings_of({"clock.now": NOW / SECOND})
    with ExitStack() as stack:
        made = Nodes([stack.enter_context(AboutToSend()) for _ in range(2)])
        yield made
        for client in made.clients.values():
            client.close()


def test_the_node_that_has_the_next_block_sooner_is_preferred_until_that_changes(nodes):
    meter = nodes.meter()
    nodes.send(2, 20)
    meter.measure_backlog()

    assert nodes.latencies == [pytest.approx(2, abs=1), pytest.approx(20, abs=1)]
    assert nodes.scheduler.ordered()[0] == nodes.one
    for _ in range(3):
        nodes.send(20, 2)
        meter.measure_backlog()

    assert nodes.scheduler.ordered()[0] == nodes.other
    meter.close(5)


def test_a_node_that_has_a_block_before_its_end_is_not_the_quickest(nodes):
    meter = nodes.meter()
    nodes.send(-5, 20)
    meter.measure_backlog()

    assert nodes.latencies == [None, pytest.approx(20, abs=1)]
    meter.close(5)


def test_a_node_that_is_followed_is_not_measured_and_none_while_blocks_of_the_past_come(nodes):
    meter = nodes.meter()
    nodes.send(2, 20)

    nodes.followed = None
    meter.measure_backlog()
    assert nodes.latencies == [None, None]
    nodes.followed = nodes.one
    meter.measure_backlog()
    assert nodes.latencies == [None, pytest.approx(20, abs=1)]
    meter.close(5)


def test_as_many_as_may_wait_are_measured_and_the_others_the_next_time(nodes):
    nodes.followed = nodes.one
    meter = nodes.meter(backlog=0)
    nodes.send(2, 20)

    meter.measure_backlog()
    meter.measure_backlog()

    assert nodes.latencies == [None, pytest.approx(20, abs=1)]
    meter.close(5)


def test_three_misses_make_a_latency_unknown(nodes):
    meter = nodes.meter()
    nodes.send(2, 20)
    meter.measure_backlog()
    for server in nodes.servers:
        server.__exit__()

    for _ in range(3):
        assert nodes.latencies[0] is not None
        meter.measure_backlog()

    assert nodes.latencies == [None, None]
    meter.close(5)
