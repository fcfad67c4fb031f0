"""Which block node to ask: by priority, by how soon it has blocks, or by both; least those that fail."""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from ledger.stream.source.block_node.assembly import BlockNodeFailure
from ledger.stream.source.block_node.client import Available, BlockNode

# A new latency counts for so much of the mean.
_NEW_PART = 0.3
# So many failed measurements make a latency unknown.
_MISSES = 3


class Order(StrEnum):
    """By what nodes are preferred."""

    LATENCY = "LATENCY"
    PRIORITY = "PRIORITY"
    PRIORITY_THEN_LATENCY = "PRIORITY_THEN_LATENCY"


@dataclass(frozen=True)
class Rules:
    """When a node is given up and asked again, and when another one is better. Times are seconds."""

    order: Order = Order.PRIORITY_THEN_LATENCY
    most_failures: int = 3
    readmit_after: float = 60
    # Another node has to be sooner by so much, and the last change so long ago.
    sooner_by: float = 0.05
    change_after: float = 10
    # While loading a block takes longer than this, no node is too late.
    most_processing: float = 1


@dataclass
class _Known:
    failures: int = 0
    inactive_until: float = 0.0
    # The mean time from the end of a block to its arrival (s), None if unknown.
    latency: float | None = None
    misses: int = 0


class Scheduler:
    """The nodes and what is known of them. `nodes` returns those of the moment, `ask` what blocks one has."""

    def __init__(
        self,
        nodes: Callable[[], Sequence[BlockNode]],
        ask: Callable[[BlockNode], Available | None],
        rules: Rules,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nodes, self._ask = nodes, ask
        self._rules = rules
        self._clock = clock
        self._known: dict[BlockNode, _Known] = {}
        self._changed = float("-inf")
        self._lock = threading.Lock()

    def choose(self, number: int | None) -> tuple[BlockNode, int]:
        """Return a node that has a block, and the number; None is the earliest block that a node has.

        Nodes that keep failing are asked when no other has it. Errors: BlockNodeFailure.
        """
        ordered = self.ordered()
        now = self._clock()
        active = [node for node in ordered if self._of(node).inactive_until <= now]
        inactive = [node for node in ordered if node not in active]
        for node in (*active, *inactive):
            available = self._ask(node)
            if available is None:
                continue
            wanted = available.first if number is None else number
            # The next block of a node that has all before it is on its way.
            if available.has(wanted) or (node in active and wanted == available.last + 1):
                self._changed = now
                return node, wanted
        what = "a block" if number is None else f"block {number}"
        asked = ", ".join(node.name for node in ordered) or "none is known"
        raise BlockNodeFailure(
            "block nodes",
            0,
            f"no block node can provide {what} ({asked})",
            "It is tried again; importer.block.nodes names block nodes.",
        )

    def ordered(self) -> list[BlockNode]:
        """Return the nodes, the preferred one first."""
        return sorted(self._nodes(), key=self._rank)

    def succeeded(self, node: BlockNode, latency: float | None = None) -> None:
        """Note that a block has come from a node; with the time since the block's end (s) if it is new."""
        known = self._of(node)
        known.failures = 0
        known.inactive_until = 0.0
        if latency is None:
            return
        known.misses = 0
        mean = known.latency
        known.latency = latency if mean is None else mean + _NEW_PART * (latency - mean)

    def failed(self, node: BlockNode) -> None:
        """Note that a subscription has failed; too many failures make a node inactive for a while."""
        known = self._of(node)
        known.failures += 1
        if known.failures >= self._rules.most_failures:
            known.inactive_until = self._clock() + self._rules.readmit_after

    def missed(self, node: BlockNode) -> None:
        """Note that a node's latency could not be measured."""
        known = self._of(node)
        known.misses += 1
        if known.misses >= _MISSES:
            known.latency = None

    def better_than(self, node: BlockNode, processing: float) -> BlockNode | None:
        """Return another node that has blocks so much sooner that it should be asked instead.

        `processing` is the time that loading a block takes (s).
        """
        now, rules = self._clock(), self._rules
        own = self._of(node).latency
        too_soon = now - self._changed < rules.change_after
        if own is None or too_soon or processing > rules.most_processing or rules.order is Order.PRIORITY:
            return None
        for other in self.ordered():
            known = self._of(other)
            if other == node or known.latency is None or known.inactive_until > now:
                continue
            if rules.order is Order.PRIORITY_THEN_LATENCY and other.priority > node.priority:
                continue
            if own - known.latency >= rules.sooner_by:
                return other
        return None

    def _rank(self, node: BlockNode) -> tuple[float, float, str]:
        latency = self._of(node).latency
        by_latency = float("inf") if latency is None else latency
        if self._rules.order is Order.LATENCY:
            return by_latency, node.priority, node.name
        if self._rules.order is Order.PRIORITY:
            return node.priority, 0, node.name
        return node.priority, by_latency, node.name

    def _of(self, node: BlockNode) -> _Known:
        with self._lock:
            return self._known.setdefault(node, _Known())
