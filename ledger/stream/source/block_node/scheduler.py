"""Which block node to ask: by priority, by how soon it has blocks, or by both; least those that fail."""

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple, Protocol

from ledger.stream.source.block_node.answers import Answer, Available
from ledger.stream.source.block_node.assembly import BlockNodeFailure
from ledger.stream.source.block_node.client import BlockNode

# A new latency counts for so much of the mean.
_NEW_PART = 0.3
# So many failed measurements make a latency unknown.
_MISSES = 3
# The preferred node has this time to answer before the others are asked, too.
_HEAD_START_SECONDS = 0.1
# Strangers may register nodes, and each question takes a connection and a thread of gRPC.
_MOST_AT_ONCE = 100
# Failures count half after this time: blocks that are accepted between them excuse none at once.
_HALVED_AFTER_SECONDS = 600.0
# A node that fails again each time that it is tried again is set aside for up to 2 to this power as long.
_MOST_DOUBLINGS = 3
#: A node that has sent nothing for so long is left if another one has the block. What it cost counts, too.
STALL_SECONDS = 3.0
# An error says of so many nodes why they can't provide a block; the status has more of them.
_MOST_NAMED = 3


class Order(StrEnum):
    """By what nodes are preferred."""

    LATENCY = "LATENCY"
    PRIORITY = "PRIORITY"
    PRIORITY_THEN_LATENCY = "PRIORITY_THEN_LATENCY"


class SelectionReason(StrEnum):
    """Why a node was chosen."""

    FIRST = "it is the first in order that has the block"
    NEXT = "it is the first in order that will have the block next"
    FORCED = "no other node has the block, though this one keeps failing"
    ACCEPTED = "it had kept failing, but its blocks are accepted again"


class BlockNodeClients(Protocol):
    """A question to a node: what blocks does it have?"""

    def is_answered_within(self, seconds: float) -> bool:
        """Tell if it is answered, or will not be; wait so long for that."""
        ...

    def answer(self) -> Answer: ...


class NodeSelection(NamedTuple):
    node: BlockNode
    #: The block to begin with.
    number: int
    why: SelectionReason


@dataclass(frozen=True)
class Rules:
    """When a node is given up and asked again, and when another one is better. Times are seconds.

    `most_failures` are those of about ten minutes, where each second that a stall has cost is one more.
    """

    order: Order = Order.PRIORITY_THEN_LATENCY
    most_failures: int = 3
    readmit_after: float = 60
    # Another node has to be sooner by so much, and the last change so long ago.
    sooner_by: float = 0.05
    change_after: float = 10
    # While loading a block takes longer than this, no node is too late.
    most_processing: float = 1


@dataclass(frozen=True)
class NodeState:
    """What is known of a node: its mean latency (s), if any, and for how long it is set aside (s)."""

    node: BlockNode
    latency: float | None
    failures: int
    set_aside: float
    # Its last failure in words.
    failure: str
    # What it said when it was last asked what it has, and how long ago that was (s); None before that.
    answer: Answer | None = None
    asked: float = 0.0


@dataclass
class _Known:
    # Failures and seconds lost, as they counted when the last of them happened.
    failures: float = 0.0
    failed: float = float("-inf")
    inactive_until: float = float("-inf")
    # The mean time from the end of a block to its arrival (s), None if unknown.
    latency: float | None = None
    misses: int = 0
    failure: str = ""
    answer: Answer | None = None
    answered: float = 0.0


class Scheduler:
    """The nodes and what is known of them. `nodes` returns those of the moment, `ask` asks what one has.

    The thread that measures latencies uses it beside the one that reads blocks.
    """

    def __init__(
        self,
        nodes: Callable[[], Sequence[BlockNode]],
        ask: Callable[[BlockNode], BlockNodeClients],
        rules: Rules,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._nodes, self._ask = nodes, ask
        self._rules = rules
        self._clock = clock
        self._listed: Sequence[BlockNode] = ()
        self._known: dict[BlockNode, _Known] = {}
        self._changed = float("-inf")
        self._lock = threading.RLock()

    def choose(self, number: int | None) -> NodeSelection:
        """Return a node that has a block, and the number; None is the earliest block that a node has.

        Of the nodes that have not failed too often the first one that has it, or else will have it next. Then
        of the others the one that has it and whose failure is longest ago, which gets another chance.
        Errors: BlockNodeFailure.
        """
        ordered = self.ordered()
        active = [node for node in ordered if self.is_active(node)]
        coming: NodeSelection | None = None
        for node, available in self._answers(active):
            wanted = available.first if number is None else number
            if available.has(wanted):
                return self._chosen(NodeSelection(node, wanted, SelectionReason.FIRST))
            if coming is None and wanted == available.last + 1:
                coming = NodeSelection(node, wanted, SelectionReason.NEXT)
        if coming:
            return self._chosen(coming)
        set_aside = [node for node in ordered if node not in active]
        for node, available in self._answers(sorted(set_aside, key=lambda node: self._of(node).failed)):
            wanted = available.first if number is None else number
            if available.has(wanted):
                self._readmit(node)
                return self._chosen(NodeSelection(node, wanted, SelectionReason.FORCED))
        what = "a block" if number is None else f"block {number}"
        raise BlockNodeFailure(
            "block nodes",
            0,
            f"no block node can provide {what} ({self._reasons(ordered)})",
            "See that importer.block.nodes names block nodes that can be reached and have it.",
        )

    def ordered(self) -> list[BlockNode]:
        """Return the nodes, the preferred one first."""
        self._listed = self._nodes()
        return sorted(self._listed, key=self._rank)

    def is_active(self, node: BlockNode) -> bool:
        """Tell if a node is not set aside after too many failures."""
        return self._of(node).inactive_until <= self._clock()

    def another_with(self, number: int, node: BlockNode) -> BlockNode | None:
        """Return another node that has a block, one that is set aside last; None if there is none."""
        others = [other for other in self.ordered() if other != node]
        others.sort(key=self.is_active, reverse=True)
        return next((other for other, has in self._answers(others) if has.has(number)), None)

    def to_measure(self, current: BlockNode | None) -> list[BlockNode]:
        """Return the nodes whose latency no stream of blocks tells, as far as they are not set aside."""
        if self._rules.order is Order.PRIORITY:
            return []
        return [node for node in self._listed if node != current and self.is_active(node)]

    def states(self) -> list[NodeState]:
        """Return what is known of each node, the preferred one first."""
        now = self._clock()
        with self._lock:
            return [
                NodeState(
                    node,
                    known.latency,
                    round(self._failures(known)),
                    max(known.inactive_until - now, 0.0),
                    known.failure,
                    known.answer,
                    max(now - known.answered, 0.0),
                )
                for node in sorted(self._listed, key=self._rank)
                for known in (self._of(node),)
            ]

    # WHAT HAPPENED

    def answered(self, node: BlockNode, answer: Answer) -> None:
        """Note what a node has said when it was asked what it has."""
        with self._lock:
            known = self._of(node)
            known.answer, known.answered = answer, self._clock()

    def measured(self, node: BlockNode, latency: float) -> None:
        """Note the time from the end of a block to its arrival from a node (s)."""
        with self._lock:
            known = self._of(node)
            known.misses = 0
            mean = known.latency
            known.latency = latency if mean is None else mean + _NEW_PART * (latency - mean)

    def missed(self, node: BlockNode) -> None:
        """Note that a node's latency could not be measured."""
        with self._lock:
            known = self._of(node)
            known.misses += 1
            if known.misses >= _MISSES:
                known.latency = None

    def distrust(self, node: BlockNode) -> None:
        """Forget how soon a node has blocks: one of them was refused, and may have told a wrong time."""
        with self._lock:
            self._of(node).latency = None

    def failed(self, node: BlockNode, reason: str = "", waited: float = 0.0) -> bool:
        """Note that a subscription has failed; return whether the node is set aside, as after too many.

        `waited` is for how long the node has owed a block (s).
        """
        most = self._rules.most_failures
        with self._lock:
            known = self._of(node)
            lost = waited if waited >= STALL_SECONDS else 0.0
            known.failures = min(self._failures(known) + 1 + lost, most + _MOST_DOUBLINGS)
            known.failed, known.failure = self._clock(), reason
            # What has faded since the first of so many failures within some minutes does not excuse the last.
            if round(known.failures) < most:
                return False
            doublings = max(0, round(known.failures) - most)
            known.inactive_until = known.failed + self._rules.readmit_after * 2**doublings
            return True

    def _failures(self, known: _Known) -> float:
        return known.failures * math.exp2((known.failed - self._clock()) / _HALVED_AFTER_SECONDS)

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
            latency = self._of(other).latency
            if other == node or latency is None or not self.is_active(other):
                continue
            if rules.order is Order.PRIORITY_THEN_LATENCY and other.priority > node.priority:
                continue
            if own - latency >= rules.sooner_by:
                return other
        return None

    def _answers(self, nodes: Sequence[BlockNode]) -> Iterator[tuple[BlockNode, Available]]:
        """Yield what nodes have, in their order, without those that do not tell.

        The others are asked only if the first one is slow or does not have what is wanted, and then all at
        once: each that is silent takes the whole time that an answer may take.
        """
        waiting = self._asked(nodes[:1])
        if all(question.is_answered_within(_HEAD_START_SECONDS) for _, question in waiting):
            yield from self._told(waiting)
            waiting = []
        for place in range(1, len(nodes), _MOST_AT_ONCE):
            waiting += self._asked(nodes[place : place + _MOST_AT_ONCE])
            yield from self._told(waiting)
            waiting = []
        yield from self._told(waiting)

    def _asked(self, nodes: Iterable[BlockNode]) -> list[tuple[BlockNode, BlockNodeClients]]:
        return [(node, self._ask(node)) for node in nodes]

    def _told(
        self, questions: Iterable[tuple[BlockNode, BlockNodeClients]]
    ) -> Iterator[tuple[BlockNode, Available]]:
        for node, question in questions:
            answer = question.answer()
            self.answered(node, answer)
            if answer.available is not None:
                yield node, answer.available

    def _reasons(self, nodes: Sequence[BlockNode]) -> str:
        """Return why nodes that were asked can't provide a block: of some of them, and the others counted."""
        if not nodes:
            return "none is known"
        reasons = [self._reason(node) for node in nodes[:_MOST_NAMED]]
        if (others := len(nodes) - _MOST_NAMED) > 0:
            reasons.append(f"and {others} more")
        return "; ".join(reasons)

    def _reason(self, node: BlockNode) -> str:
        known = self._of(node)
        name = node.name if node.status == node.stream else f"{node.name} (its status at {node.status})"
        said = known.answer.about(name) if known.answer else f"{name} was not asked"
        has_more_to_say = known.answer and known.answer.available and not self.is_active(node)
        return f"{said}, and is set aside, as it failed: {known.failure}" if has_more_to_say else said

    def _chosen(self, chosen: NodeSelection) -> NodeSelection:
        self._changed = self._clock()
        return chosen

    def _readmit(self, node: BlockNode) -> None:
        self._of(node).inactive_until = float("-inf")

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
