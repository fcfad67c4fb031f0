"""The choice of a block node: by priority, by latency, or by both; nodes that fail come last.

The latency of nodes other than the one that is followed is measured by a thread.
"""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, NamedTuple, Protocol

from ledger.stream.errors import StreamFileError
from ledger.stream.source.block_node.answers import Available, StatusAnswer
from ledger.stream.source.block_node.assembly import BlockNodeFailure
from ledger.stream.source.block_node.client import BlockNode, BlockNodeClient
from ledger.stream.source.stream_blocks import FetchedBlock
from mirror.core import logs
from mirror.core.config import clock
from mirror.core.values.timestamp import NANOS_PER_SECOND

log = logs.logger(__name__)

_POLL_SECONDS = 0.25
# Clocks differ by less than this: a block that arrives earlier than it ended has a wrong time.
_MAX_CLOCK_SKEW_SECONDS = 1.0
# The weight of a new latency in the mean.
_NEW_WEIGHT = 0.3
# After this number of failed measurements a latency is unknown.
_MAX_MISSES = 3
# The others are requested if the preferred node has not answered by then.
_HEAD_START_SECONDS = 0.1
# Anyone may register nodes, and each request takes a connection and a thread of gRPC.
_MAX_AT_ONCE = 100
# Failures count half after this time: blocks that are accepted between them do not reset them.
_HALVED_AFTER_SECONDS = 600.0
# A node that fails at each retry is set aside for up to 2 to this power as long.
_MAX_DOUBLINGS = 3
#: A node that sends nothing for this time is left if another one has the block; the time counts as failures.
STALL_SECONDS = 3.0
# The number of nodes that an error names; the status has all of them.
_MAX_SHOWN = 3


class Order(StrEnum):
    """The order of preference."""

    LATENCY = "LATENCY"
    PRIORITY = "PRIORITY"
    PRIORITY_THEN_LATENCY = "PRIORITY_THEN_LATENCY"


class SelectionReason(StrEnum):
    """Why a node was chosen."""

    FIRST = "it is the first in order that has the block"
    NEXT = "it is the first in order that will have the block next"
    FORCED = "no other node has the block, though this one keeps failing"
    ACCEPTED = "it had kept failing, but its blocks are accepted again"


class StatusRequest(Protocol):
    """A request for the status of a node (`client.PendingStatus`)."""

    def is_done_within(self, seconds: float) -> bool: ...
    def answer(self) -> StatusAnswer: ...


class NodeSelection(NamedTuple):
    node: BlockNode
    #: The block to begin with.
    number: int
    reason: SelectionReason


@dataclass(frozen=True)
class Rules:
    """When a node is set aside and readmitted, and when another one is better. Times are seconds.

    `max_failures` are those of about ten minutes; each second of a stall counts as one.
    """

    order: Order = Order.PRIORITY_THEN_LATENCY
    max_failures: int = 3
    readmit_after: float = 60
    # The least gain in latency of another node, and the least time since the last change.
    min_latency_gain: float = 0.05
    min_change_seconds: float = 10
    # No change while loading a block takes longer than this.
    max_processing: float = 1


@dataclass
class _NodeState:
    # Failures and seconds of stalls, as they counted at the last of them.
    failures: float = 0.0
    failed: float = float("-inf")
    inactive_until: float = float("-inf")
    # The mean time from the end of a block to its arrival (s), None if unknown.
    latency: float | None = None
    misses: int = 0
    failure: str = ""
    answer: StatusAnswer | None = None
    answered: float = 0.0


class Scheduler:
    """The nodes and their states, for two threads; `nodes` returns them, `poll` requests a status."""

    def __init__(
        self,
        nodes: Callable[[], Sequence[BlockNode]],
        poll: Callable[[BlockNode], StatusRequest],
        rules: Rules,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nodes, self._poll = nodes, poll
        self._rules = rules
        self._clock = clock
        self._last_nodes: Sequence[BlockNode] = ()
        self._states: dict[BlockNode, _NodeState] = {}
        self._changed = float("-inf")
        self._lock = threading.RLock()

    def choose(self, number: int | None) -> NodeSelection:
        """Return a node that has a block, and the number; None is the earliest block that a node has.

        The first active node that has it, or else will have it next; else the node set aside that has it and
        whose failure is longest ago, which is readmitted.
        Errors: BlockNodeFailure.
        """
        ordered = self.ordered()
        active = [node for node in ordered if self.is_active(node)]
        next_selection: NodeSelection | None = None
        self._changed = self._clock()
        for node, available in self._statuses(active):
            target = available.first if number is None else number
            if available.has(target):
                return NodeSelection(node, target, SelectionReason.FIRST)
            if next_selection is None and target == available.last + 1:
                next_selection = NodeSelection(node, target, SelectionReason.NEXT)
        if next_selection:
            return next_selection
        set_aside = [node for node in ordered if node not in active]
        for node, available in self._statuses(sorted(set_aside, key=lambda node: self._state(node).failed)):
            target = available.first if number is None else number
            if available.has(target):
                self._state(node).inactive_until = float("-inf")
                return NodeSelection(node, target, SelectionReason.FORCED)
        block = "a block" if number is None else f"block {number}"
        raise BlockNodeFailure(
            "block nodes",
            f"no block node can provide {block} ({self._reasons(ordered)})",
            "See that importer.block.nodes names block nodes that can be reached and have it.",
        )

    def ordered(self) -> list[BlockNode]:
        self._last_nodes = self._nodes()
        return sorted(self._last_nodes, key=self._rank)

    def is_active(self, node: BlockNode) -> bool:
        return self._state(node).inactive_until <= self._clock()

    def other_node_with(self, number: int, node: BlockNode) -> BlockNode | None:
        """Return another node that has a block, one that is set aside last; None if there is none."""
        others = [other for other in self.ordered() if other != node]
        others.sort(key=self.is_active, reverse=True)
        return next((other for other, has in self._statuses(others) if has.has(number)), None)

    def nodes_to_measure(self, current: BlockNode | None) -> list[BlockNode]:
        """Return the active nodes other than the current one, whose stream shows its latency."""
        if self._rules.order is Order.PRIORITY:
            return []
        return [node for node in self._last_nodes if node != current and self.is_active(node)]

    def status(self, used: BlockNode | None) -> list[dict[str, Any]]:
        """Return what operators see of each node, the preferred one first. Times are seconds of the epoch."""
        monotonic, now = self._clock(), time.time()
        with self._lock:
            return [
                {
                    "name": node.name,
                    "priority": node.priority,
                    "used": node == used,
                    "latency_ms": None if state.latency is None else round(state.latency * 1000),
                    "failures": round(self._failures(state)),
                    "last_failure": state.failure,
                    "set_aside_until": round(now + state.inactive_until - monotonic)
                    if state.inactive_until > monotonic
                    else None,
                    "blocks": state.answer and state.answer.available,
                    "answer": state.answer.has if state.answer else "",
                    "answered": round(now - (monotonic - state.answered)) if state.answer else None,
                }
                for node in sorted(self._last_nodes, key=self._rank)
                for state in (self._state(node),)
            ]

    # WHAT HAPPENED

    def available(self, node: BlockNode, request: StatusRequest | None = None) -> Available | None:
        """Store and return what blocks a node has, by its answer to a request, or else to a new one."""
        answer = (request or self._poll(node)).answer()
        with self._lock:
            state = self._state(node)
            state.answer, state.answered = answer, self._clock()
        return answer.available

    def measured(self, node: BlockNode, latency: float) -> None:
        """Store the time from the end of a block to its arrival from a node (s)."""
        with self._lock:
            state = self._state(node)
            state.misses = 0
            mean = state.latency
            state.latency = latency if mean is None else mean + _NEW_WEIGHT * (latency - mean)

    def not_measured(self, node: BlockNode) -> None:
        """Note that a node's latency could not be measured."""
        with self._lock:
            state = self._state(node)
            state.misses += 1
            if state.misses >= _MAX_MISSES:
                state.latency = None

    def reset_latency(self, node: BlockNode) -> None:
        """Drop the latency of a node: a block of it was refused, and may have a wrong time."""
        with self._lock:
            self._state(node).latency = None

    def failed(self, node: BlockNode, reason: str = "", waited: float = 0.0) -> bool:
        """Note a failure, and a stall of `waited` (s); return whether the node is set aside."""
        max_failures = self._rules.max_failures
        with self._lock:
            state = self._state(node)
            stall_seconds = waited if waited >= STALL_SECONDS else 0.0
            state.failures = min(self._failures(state) + 1 + stall_seconds, max_failures + _MAX_DOUBLINGS)
            state.failed, state.failure = self._clock(), reason
            # Rounded: the decay since the first of some failures within minutes must not hide the last.
            if round(state.failures) < max_failures:
                return False
            doublings = max(0, round(state.failures) - max_failures)
            state.inactive_until = state.failed + self._rules.readmit_after * 2**doublings
            return True

    def _failures(self, state: _NodeState) -> float:
        return state.failures * math.exp2((state.failed - self._clock()) / _HALVED_AFTER_SECONDS)

    def better_than(self, node: BlockNode, processing: float) -> BlockNode | None:
        """Return another node with much lower latency; `processing` is how long a block takes (s)."""
        now, rules = self._clock(), self._rules
        current = self._state(node).latency
        too_soon = now - self._changed < rules.min_change_seconds
        if current is None or too_soon or processing > rules.max_processing or rules.order is Order.PRIORITY:
            return None
        for other in self.ordered():
            latency = self._state(other).latency
            if other == node or latency is None or not self.is_active(other):
                continue
            if rules.order is Order.PRIORITY_THEN_LATENCY and other.priority > node.priority:
                continue
            if current - latency >= rules.min_latency_gain:
                return other
        return None

    def _statuses(self, nodes: Sequence[BlockNode]) -> Iterator[tuple[BlockNode, Available]]:
        """Yield the blocks of nodes, in their order, as far as they answer.

        The status of the others is requested only if the first one is slow or does not have the block, and
        then of all at once: each silent one takes the whole time limit.
        """
        requests = [(node, self._poll(node)) for node in nodes[:1]]
        if all(request.is_done_within(_HEAD_START_SECONDS) for _, request in requests):
            yield from self._available_blocks(requests)
            requests = []
        for start in range(1, len(nodes), _MAX_AT_ONCE):
            requests += [(node, self._poll(node)) for node in nodes[start : start + _MAX_AT_ONCE]]
            yield from self._available_blocks(requests)
            requests = []
        yield from self._available_blocks(requests)

    def _available_blocks(
        self, requests: Iterable[tuple[BlockNode, StatusRequest]]
    ) -> Iterator[tuple[BlockNode, Available]]:
        for node, request in requests:
            if (available := self.available(node, request)) is not None:
                yield node, available

    def _reasons(self, nodes: Sequence[BlockNode]) -> str:
        """Return why nodes can't provide a block: of some of them, and the number of the others."""
        if not nodes:
            return "none is known"
        reasons = [self._reason(node) for node in nodes[:_MAX_SHOWN]]
        if (others := len(nodes) - _MAX_SHOWN) > 0:
            reasons.append(f"and {others} more")
        return "; ".join(reasons)

    def _reason(self, node: BlockNode) -> str:
        state = self._state(node)
        name = node.name if node.status == node.stream else f"{node.name} (its status at {node.status})"
        answer = state.answer.text(name) if state.answer else f"{name} was not asked"
        if state.answer and state.answer.available and not self.is_active(node):
            return f"{answer}, and is set aside, as it failed: {state.failure}"
        return answer

    def _rank(self, node: BlockNode) -> tuple[float, float, str]:
        latency = self._state(node).latency
        by_latency = float("inf") if latency is None else latency
        if self._rules.order is Order.LATENCY:
            return by_latency, node.priority, node.name
        if self._rules.order is Order.PRIORITY:
            return node.priority, 0, node.name
        return node.priority, by_latency, node.name

    def _state(self, node: BlockNode) -> _NodeState:
        with self._lock:
            return self._states.setdefault(node, _NodeState())


# LATENCY


@dataclass(frozen=True)
class Measuring:
    """How often each node's latency is measured, and how long that may take (s)."""

    interval: float = 10.0
    timeout: float = 5.0
    # Nodes that are measured after the first, one at a time; the others follow in the next round.
    backlog: int = 1


def latency_of(block: FetchedBlock) -> float | None:
    """Return the time from the end of a block to the arrival of its last item (s), None if that can't be."""
    age = time.monotonic() - block.arrived
    latency = (clock.now_ns() - block.file.consensus_end) / NANOS_PER_SECOND - age
    return None if latency < -_MAX_CLOCK_SKEW_SECONDS else latency


class LatencyMeter:
    """A thread that requests the next block of one node after another. Close it when done.

    `current` returns the node that is followed, whose latency its stream shows; None while blocks of the past
    are loaded, which show none.
    """

    def __init__(
        self,
        scheduler: Scheduler,
        client: Callable[[BlockNode], BlockNodeClient],
        current: Callable[[], BlockNode | None],
        measuring: Measuring,
    ) -> None:
        self._scheduler = scheduler
        self._client, self._current = client, current
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

    def measure_backlog(self) -> None:
        """Measure the nodes whose last measurement is longest ago, up to the backlog."""
        current = self._current()
        if current is None:
            return
        order = {node: index for index, node in enumerate(self._measured)}
        nodes = sorted(self._scheduler.nodes_to_measure(current), key=lambda node: order.get(node, -1))
        for node in nodes[: 1 + self._measuring.backlog]:
            if self._stopping.is_set():
                return
            self._measured.pop(node, None)
            self._measured[node] = None
            self._measure(node)

    def _run(self) -> None:
        while not self._stopping.wait(self._measuring.interval):
            try:
                self.measure_backlog()
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
            self._scheduler.not_measured(node)

    def _next_block(self, node: BlockNode) -> FetchedBlock | None:
        """Return the block that the node has next; None if it does not come in time."""
        available = self._scheduler.available(node)
        if available is None:
            return None
        until = time.monotonic() + self._measuring.timeout
        number = available.last + 1
        subscription = self._client(node).subscribe(number, number, seconds_per_block=self._measuring.timeout)
        try:
            while not self._stopping.is_set() and not subscription.has_ended and time.monotonic() < until:
                if block := subscription.next(_POLL_SECONDS):
                    return block
        finally:
            subscription.close()
        return None
