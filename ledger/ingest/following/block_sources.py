"""Where blocks come from: block nodes, a bucket, or whichever of them works."""

import threading
import time
from collections.abc import Callable
from typing import Protocol

from ledger.stream.errors import StreamFileError
from ledger.stream.source.block_bucket import BlockBucket
from ledger.stream.source.block_node.assembly import Limits
from ledger.stream.source.block_node.client import (
    Available,
    BlockNode,
    BlockNodeClient,
    StreamedBlock,
    Subscription,
)
from ledger.stream.source.block_node.scheduler import Scheduler
from ledger.stream.source.blocks import FetchedBlock
from mirror import logs
from mirror.config import clock
from mirror.values.timestamp import NANOS_PER_SECOND

log = logs.logger(__name__)

EARLIEST = -1
# A block that is older than this when it arrives tells nothing of the node's latency.
_NEW_SECONDS = 60.0
# So many errors in a row, and the other kind of source is tried.
_ERRORS = 3


class BlockSource(Protocol):
    @property
    def location(self) -> str:
        """Where blocks come from, in words."""
        ...

    def next(self, number: int, seconds: float) -> FetchedBlock | None:
        """Return a block, None if it does not come within some seconds; EARLIEST is the first there is.

        Errors: StreamFileError.
        """
        ...

    def refuse(self) -> None:
        """Note that the last block was not what it should be."""
        ...

    def close(self) -> None: ...


class FromBucket:
    """Blocks of a bucket."""

    def __init__(self, bucket: BlockBucket) -> None:
        self._bucket = bucket
        self.location = bucket.location

    def next(self, number: int, seconds: float) -> FetchedBlock | None:
        if number == EARLIEST:
            raise StreamFileError(
                self.location,
                0,
                "a bucket does not tell its earliest block",
                "Name the number to begin with by importer.startBlockNumber, or a block node.",
            )
        return self._bucket.next(number)

    def refuse(self) -> None:
        pass

    def close(self) -> None:
        self._bucket.close()


class FromBlockNodes:
    """Blocks of one block node after another, as the scheduler chooses them."""

    def __init__(
        self,
        nodes: Callable[[], list[BlockNode]],
        make_scheduler: Callable[
            [Callable[[], list[BlockNode]], Callable[[BlockNode], Available | None]], Scheduler
        ],
        limits: Limits,
        *,
        seconds_per_block: float,
        seconds_of_status: float,
    ) -> None:
        self.location = "block nodes"
        self._limits = limits
        self._seconds_per_block, self._seconds_of_status = seconds_per_block, seconds_of_status
        self._clients: dict[BlockNode, BlockNodeClient] = {}
        self._lock = threading.Lock()
        self.scheduler = make_scheduler(nodes, self._available)
        self._node: BlockNode | None = None
        self._subscription: Subscription | None = None
        # The number that the subscription is asked for next.
        self._asked = EARLIEST
        # When the last block was given away (monotonic seconds): loading it takes until the next is wanted.
        self._given = 0.0

    def next(self, number: int, seconds: float) -> FetchedBlock | None:
        processing = time.monotonic() - self._given if self._given else 0.0
        if self._node and self.scheduler.better_than(self._node, processing):
            self._end()
        if self._subscription is None or self._asked != number:
            self._begin(number)
        assert self._subscription and self._node
        try:
            block = self._subscription.next(seconds)
        except StreamFileError as error:
            log.info("block_node_failed", node=self._node.name, reason=str(error))
            self.scheduler.failed(self._node)
            self._end()
            raise
        if block is None:
            self._given = 0.0
            return None
        number = block.number
        self._asked = number + 1
        self.scheduler.succeeded(self._node, _latency(block))
        self._given = time.monotonic()
        return FetchedBlock(block.file.name, number, block.file, f"the block node {self._node.name}")

    def refuse(self) -> None:
        if self._node:
            self.scheduler.failed(self._node)
        self._end()

    def close(self) -> None:
        self._end()
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def _begin(self, number: int) -> None:
        """Subscribe to a node from a block on. Errors: StreamFileError."""
        self._end()
        self._node, first = self.scheduler.choose(None if number == EARLIEST else number)
        self._asked = number
        self.location = f"the block node {self._node.name}"
        self._subscription = self._client(self._node).subscribe(
            first, seconds_per_block=self._seconds_per_block
        )
        log.info("block_node_chosen", node=self._node.name, block=first)

    def _end(self) -> None:
        if self._subscription:
            self._subscription.close()
        self._subscription = self._node = None
        self._given = 0.0

    def _available(self, node: BlockNode) -> Available | None:
        return self._client(node).available(self._seconds_of_status)

    def _client(self, node: BlockNode) -> BlockNodeClient:
        with self._lock:
            if node not in self._clients:
                self._clients[node] = BlockNodeClient(node, self._limits)
            return self._clients[node]


def _latency(block: StreamedBlock) -> float | None:
    """Return the time from the end of a block to its arrival (s), None for one that is not new."""
    since = time.monotonic() - block.arrived
    latency = (clock.now_ns() - block.file.consensus_end) / NANOS_PER_SECOND - since
    return latency if latency < _NEW_SECONDS else None


class FromEither:
    """Blocks of one source; of the other one after too many errors in a row, and so on in turn."""

    def __init__(self, first: BlockSource, second: BlockSource) -> None:
        self._sources = [first, second]
        self._errors = {id(first): 0, id(second): 0}

    @property
    def location(self) -> str:
        return self._sources[0].location

    def next(self, number: int, seconds: float) -> FetchedBlock | None:
        current = self._sources[0]
        try:
            block = current.next(number, seconds)
        except StreamFileError:
            self._fail()
            raise
        if block:
            self._errors[id(current)] = 0
        return block

    def refuse(self) -> None:
        self._sources[0].refuse()
        self._fail()

    def close(self) -> None:
        for source in self._sources:
            source.close()

    def _fail(self) -> None:
        current = self._sources[0]
        self._errors[id(current)] += 1
        if self._errors[id(current)] >= _ERRORS:
            self._sources.reverse()
            log.warning("block_source_changed", before=current.location, now=self.location)
