"""Measuring the latency of block nodes other than the one that is followed."""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from ledger.stream.errors import StreamFileError
from ledger.stream.source.block_node.answers import Available
from ledger.stream.source.block_node.client import BlockNode, BlockNodeClient
from ledger.stream.source.block_node.scheduler import Scheduler
from ledger.stream.source.blocks import FetchedBlock
from mirror.core import logs
from mirror.core.config import clock
from mirror.core.values.timestamp import NANOS_PER_SECOND

log = logs.logger(__name__)

_LOOK_SECONDS = 0.25
# Clocks differ by less than this: a block that arrives earlier than it ended has a wrong time.
_CLOCKS_DIFFER_SECONDS = 1.0


@dataclass(frozen=True)
class Measuring:
    """How often each node's latency is measured, and how long that may take (s)."""

    every: float = 10.0
    most_seconds: float = 5.0
    # Nodes that are measured after the first, one at a time; the others follow in the next round.
    backlog: int = 1


def latency_of(block: FetchedBlock) -> float | None:
    """Return the time from the end of a block to the arrival of its last item (s), None if that can't be."""
    since = time.monotonic() - block.arrived
    latency = (clock.now_ns() - block.file.consensus_end) / NANOS_PER_SECOND - since
    return None if latency < -_CLOCKS_DIFFER_SECONDS else latency


class LatencyMeter:
    """A thread that requests the next block of one node after another. Close it when done.

    `current` returns the node that is followed, whose latency its stream shows; None while blocks of the past
    are loaded, which show none.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        available: Callable[[BlockNode], Available | None],
        client: Callable[[BlockNode], BlockNodeClient],
        current: Callable[[], BlockNode | None],
        measuring: Measuring,
    ) -> None:
        self._scheduler = scheduler
        self._available, self._client, self._current = available, client, current
        self._measuring = measuring
        self._stopping = threading.Event()
        # The nodes, the one that was measured last at the end.
        self._measured: dict[BlockNode, None] = {}
        self._thread = threading.Thread(target=self._run, name="latency", daemon=True)
        self._thread.start()

    def close(self, seconds: float) -> None:
        """End the thread, and wait for that so long."""
        self._stopping.set()
        self._thread.join(seconds)

    def measure_some(self) -> None:
        """Measure the nodes whose last measurement is longest ago, up to the backlog."""
        current = self._current()
        if current is None:
            return
        order = {node: index for index, node in enumerate(self._measured)}
        nodes = sorted(self._scheduler.to_measure(current), key=lambda node: order.get(node, -1))
        for node in nodes[: 1 + self._measuring.backlog]:
            if self._stopping.is_set():
                return
            self._measured.pop(node, None)
            self._measured[node] = None
            self._measure(node)

    def _run(self) -> None:
        while not self._stopping.wait(self._measuring.every):
            try:
                self.measure_some()
            except Exception:
                # Loading continues without it.
                log.exception("latency_not_measured")

    def _measure(self, node: BlockNode) -> None:
        try:
            block = self._next_block(node)
        except StreamFileError:
            block = None
        if block and (latency := latency_of(block)) is not None:
            self._scheduler.measured(node, latency)
        elif not self._stopping.is_set():
            self._scheduler.missed(node)

    def _next_block(self, node: BlockNode) -> FetchedBlock | None:
        """Return the block that the node has next; None if it does not come in time."""
        available = self._available(node)
        if available is None:
            return None
        until = time.monotonic() + self._measuring.most_seconds
        number = available.last + 1
        subscription = self._client(node).subscribe(
            number, number, seconds_per_block=self._measuring.most_seconds
        )
        try:
            while not self._stopping.is_set() and not subscription.has_ended and time.monotonic() < until:
                if block := subscription.next(_LOOK_SECONDS):
                    return block
        finally:
            subscription.close()
        return None
