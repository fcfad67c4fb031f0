"""Where blocks come from: block nodes, or a bucket."""

import re
import threading
import time
from collections.abc import Callable
from typing import Any

from ledger.stream.errors import StreamFileError
from ledger.stream.source.block_node.assembly import BlockNodeFailure, BlockNodeStall, Limits
from ledger.stream.source.block_node.client import BlockNode, BlockNodeClient, Subscription
from ledger.stream.source.block_node.scheduler import (
    STALL_SECONDS,
    LatencyMeter,
    Measuring,
    NodeSelection,
    Rules,
    Scheduler,
    SelectionReason,
    StatusRequest,
    latency_of,
)
from ledger.stream.source.stream_blocks import EARLIEST, BlockSource, FetchedBlock
from mirror.core import logs
from mirror.core.metrics import ingest

log = logs.logger(__name__)

#: After a stream without a block, from a node that has none, the next stream waits for this time.
IDLE_SECONDS = 0.5
# A block that is older than this when it arrives is no measure of the node's latency.
_LIVE_SECONDS = 60.0
# After so many errors in a row the other source is used.
_ERRORS = 3
# What differs in a cause from block to block.
_NUMBERS = re.compile(r"\b[0-9a-f…]*\d[0-9a-f…]*")


class BlockNodeSource:
    """Blocks of one block node after another, as the scheduler chooses them."""

    def __init__(
        self, nodes: Callable[[], list[BlockNode]], rules: Rules, limits: Limits, measuring: Measuring
    ) -> None:
        self.location = "block nodes"
        self._limits, self._measuring = limits, measuring
        self._clients: dict[BlockNode, BlockNodeClient] = {}
        self._lock = threading.Lock()
        self.scheduler = Scheduler(nodes, self._poll, rules)
        self._choice: NodeSelection | None = None
        self._subscription: Subscription | None = None
        self._meter: LatencyMeter | None = None
        # Whether the last block was new enough for its arrival to measure the latency of its node.
        self._is_live = False
        # That latency (s), until the block is accepted.
        self._latency: float | None = None
        # The number of the next block of the subscription.
        self._next_number = EARLIEST
        # When the last block was returned (monotonic seconds): loading it takes until the next call.
        self._returned_at = 0.0
        # When waiting for the next block began, and when other nodes are looked at (monotonic seconds).
        self._requested_at = self._next_stall_check = 0.0
        # The warnings of refused blocks: the node, and the cause without its hashes and numbers.
        self._warned: set[tuple[str, str]] = set()
        # When the next stream may begin (monotonic seconds).
        self._next_stream = 0.0

    def next(self, number: int, seconds: float) -> FetchedBlock | None:
        if self._returned_at:
            self._requested_at = time.monotonic()
        self._note_success(number)
        self._leave_for_faster_node()
        if self._subscription is None and not self._may_begin_within(seconds):
            return None
        if self._subscription is None or self._next_number != number:
            self._begin(number)
        assert self._subscription and self._choice
        node = self._choice.node
        try:
            block = self._subscription.next(seconds)
            if block is None and self._subscription.is_overdue:
                block = self._late_block(node, self._subscription)
            elif block is None:
                self._require_no_stall(node, self._subscription)
            if self._subscription and self._subscription.has_ended:
                self._note_end(self._choice, self._subscription)
        except StreamFileError as error:
            self._fail(error.cause, error.waited if isinstance(error, BlockNodeStall) else 0.0)
            # The connection may be dead, which TCP notices after a quarter of an hour.
            self._client(node).close()
            raise
        if block is None:
            self._returned_at = 0.0
            return None
        self._next_number = block.number + 1
        latency = latency_of(block)
        self._is_live = latency is not None and latency < _LIVE_SECONDS
        self._latency = latency if self._is_live else None
        if latency is None:
            self.scheduler.not_measured(node)
        self._returned_at = time.monotonic()
        return block

    def reject(self, reason: str = "") -> None:
        if self._choice:
            self.scheduler.reset_latency(self._choice.node)
            warned = self._choice.node.name, _NUMBERS.sub("", reason)
            if warned not in self._warned:
                self._warned.add(warned)
                log.warning("block_refused", node=warned[0], reason=reason)
        self._fail(reason or "its block was refused")

    def status(self) -> dict[str, Any]:
        choice = self._choice
        return {
            "now": f"the block node {choice.node.name}" if choice else "no block node",
            "why": choice.reason.value if choice else "",
            "nodes": self.scheduler.status(choice and choice.node),
        }

    def close(self) -> None:
        if self._meter:
            self._meter.close(self._limits.shutdown_seconds)
            self._meter = None
        self._close_subscription()
        with self._lock:
            for client in self._clients.values():
                client.close()
            self._clients.clear()

    def _note_success(self, number: int) -> None:
        """Note that the last block was accepted, and its latency, if `number` is the next one."""
        if self._returned_at and self._choice and number == self._next_number:
            if self._choice.reason is SelectionReason.FORCED:
                self._choice = self._choice._replace(reason=SelectionReason.ACCEPTED)
            if self._latency is not None:
                self.scheduler.measured(self._choice.node, self._latency)
        self._latency = None

    def _may_begin_within(self, seconds: float) -> bool:
        """Wait up to `seconds` until a stream may begin; return whether it may."""
        pause = self._next_stream - time.monotonic()
        if pause > 0:
            time.sleep(min(pause, seconds))
        return pause <= seconds

    def _note_end(self, choice: NodeSelection, subscription: Subscription) -> None:
        """Leave a stream that has ended. Errors: BlockNodeFailure if it lacks a block that the node has."""
        is_empty = subscription.number == choice.number
        if is_empty and choice.reason is not SelectionReason.NEXT:
            cause = f"the block node has ended the stream without block {choice.number}, which it has"
            raise BlockNodeFailure(choice.node.name, cause)
        if is_empty:
            self._next_stream = time.monotonic() + IDLE_SECONDS
        self._close_subscription()

    def _late_block(self, node: BlockNode, subscription: Subscription) -> FetchedBlock | None:
        """Return the block that a quiet node has after all, else None. Errors: BlockNodeFailure."""
        number, waited, available = subscription.number, subscription.idle, self.scheduler.available(node)
        if available is None:
            raise BlockNodeStall(
                node.name, "the block node sends nothing and does not tell what it has", waited
            )
        if available.has(number):
            # It may have arrived just now.
            block = subscription.next(self._limits.status_seconds)
            if block is None and subscription.is_overdue:
                raise BlockNodeStall(
                    node.name, f"the block node has not sent block {number} in time, which it has", waited
                )
            return block
        subscription.reset_idle()
        other = self.scheduler.other_node_with(number, node)
        if other and self.scheduler.is_active(other):
            log.info("block_node_left", node=node.name, sooner=other.name)
            self._close_subscription()
        return None

    def _require_no_stall(self, node: BlockNode, subscription: Subscription) -> None:
        """Errors: BlockNodeStall if a node sends nothing while another one has the whole block."""
        now = time.monotonic()
        if subscription.idle < STALL_SECONDS or now < self._next_stall_check:
            return
        is_first_check = self._next_stall_check - STALL_SECONDS < self._requested_at
        self._next_stall_check = now + STALL_SECONDS
        if other := self.scheduler.other_node_with(subscription.number, node):
            raise BlockNodeStall(
                node.name,
                f"the block node has sent nothing for {subscription.idle:.0f} s, while {other.name} has "
                f"block {subscription.number}",
                max(now - self._requested_at, STALL_SECONDS) if is_first_check else 0.0,
            )

    def _leave_for_faster_node(self) -> None:
        processing = time.monotonic() - self._returned_at if self._returned_at else 0.0
        if self._choice and (faster := self.scheduler.better_than(self._choice.node, processing)):
            log.info("block_node_left", node=self._choice.node.name, sooner=faster.name)
            self._close_subscription()

    def _begin(self, number: int) -> None:
        """Subscribe to a node from a block on. Errors: StreamFileError."""
        self._close_subscription()
        choice = self.scheduler.choose(None if number == EARLIEST else number)
        self._next_number = number
        self.location = f"the block node {choice.node.name}"
        self._subscription = self._client(choice.node).subscribe(
            choice.number, seconds_per_block=self._limits.block_seconds
        )
        self._choice, self._requested_at = choice, time.monotonic()
        log.info("block_node_chosen", node=choice.node.name, block=choice.number, reason=choice.reason.value)
        if self._meter is None:
            self._meter = LatencyMeter(
                self.scheduler, self._client, self._node_measured_by_stream, self._measuring
            )

    def _fail(self, reason: str, waited: float = 0.0) -> None:
        """Note a failure; `waited` is for how long the node has owed a block (s)."""
        if self._choice is None:
            return
        node = self._choice.node
        log.info("block_node_failed", node=node.name, reason=reason)
        ingest.BLOCK_NODE_FAILURES.labels(node.name).inc()
        if self.scheduler.failed(node, reason, waited):
            log.warning("block_node_set_aside", node=node.name, reason=reason)
        self._close_subscription()

    def _close_subscription(self) -> None:
        if self._subscription:
            self._subscription.close()
        self._subscription = self._choice = self._latency = None
        self._returned_at = 0.0

    def _node_measured_by_stream(self) -> BlockNode | None:
        choice = self._choice
        return choice.node if choice and self._is_live else None

    def _poll(self, node: BlockNode) -> StatusRequest:
        return self._client(node).poll(self._limits.status_seconds)

    def _client(self, node: BlockNode) -> BlockNodeClient:
        with self._lock:
            if node not in self._clients:
                self._clients[node] = BlockNodeClient(node, self._limits)
            return self._clients[node]


class FailoverBlockSource:
    """Blocks of one source; after too many errors in a row of the other one, and so on.

    While the first one is not `usable`, all come from the second. When the current one has had nothing new
    for `timeout` (s), the other one is tried: the network is quiet, or the current source has ended.
    """

    def __init__(
        self,
        first: BlockSource,
        second: BlockSource,
        usable: Callable[[], bool] = lambda: True,
        *,
        timeout: float = 5.0,
    ) -> None:
        self._first, self._second = first, second
        self._usable, self._timeout = usable, timeout
        # Since when there has been nothing new, or when the other one was tried (monotonic seconds).
        self._quiet_since: float | None = None
        # Whether a change was warned of since the last block.
        self._warned = False
        self._errors = {id(first): 0, id(second): 0}
        # The number of the last block, which may still be refused.
        self._last_number: int | None = None
        self._uses_second = False
        self._current, self._reason = first, ""
        self._choose("")

    @property
    def location(self) -> str:
        return self._current.location

    def next(self, number: int, seconds: float) -> FetchedBlock | None:
        if self._last_number is not None and number > self._last_number:
            # The last block was accepted, as a later one is read.
            self._errors[id(self._current)] = 0
            self._warned = False
        self._choose("block nodes are known" if self._current is self._second else "no block node is known")
        try:
            block = self._current.next(number, seconds)
        except StreamFileError:
            self._fail()
            raise
        if block is None:
            block = self._block_of_other_source(number, seconds)
        else:
            self._quiet_since = None
        self._last_number = block.number if block else None
        return block

    def reject(self, reason: str = "") -> None:
        self._current.reject(reason)
        self._fail()

    def status(self) -> dict[str, Any]:
        status = self._current.status()
        nodes = status["nodes"] or self._first.status()["nodes"]
        return status | {"why": status["why"] or self._reason, "nodes": nodes}

    def close(self) -> None:
        self._first.close()
        self._second.close()

    def _block_of_other_source(self, number: int, seconds: float) -> FetchedBlock | None:
        """Return the block if the other source has it, and use that one from then on; try now and then."""
        now = time.monotonic()
        if self._quiet_since is None:
            self._quiet_since = now
        if now - self._quiet_since < self._timeout or not self._usable():
            return None
        other = self._first if self._current is self._second else self._second
        try:
            block = other.next(number, seconds)
        except StreamFileError:
            # It is not needed yet: the network may be quiet.
            block = None
        self._quiet_since = time.monotonic()
        if block is not None:
            self._quiet_since, self._uses_second = None, other is self._second
            self._choose("the other source has nothing new")
        return block

    def _fail(self) -> None:
        self._last_number = self._quiet_since = None
        self._errors[id(self._current)] += 1
        if self._errors[id(self._current)] >= _ERRORS and self._usable():
            self._uses_second = self._current is self._first
            self._choose("the other source has failed too often")

    def _choose(self, reason: str) -> None:
        old = self._current
        self._current = self._second if self._uses_second or not self._usable() else self._first
        if self._current is not old:
            self._reason = reason
            if not self._warned:
                log.warning(
                    "block_source_changed", before=old.location, now=self._current.location, reason=reason
                )
            self._warned = True
