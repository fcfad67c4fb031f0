"""The choice of a block node."""

import time

import pytest

from ledger.stream.source.block_node.answers import Available, StatusAnswer
from ledger.stream.source.block_node.assembly import BlockNodeFailure
from ledger.stream.source.block_node.client import BlockNode, Endpoint
from ledger.stream.source.block_node.scheduler import Order, Rules, Scheduler, SelectionReason
from tests.waiting import PATIENCE_SECONDS

ALL = Available(0, 100)


def node(name: str, priority: int = 0) -> BlockNode:
    return BlockNode(Endpoint(name, 40840), Endpoint(name, 40840), priority)


A, B, C = node("a"), node("b"), node("c", 1)


class FixedAnswer:
    """A question that is answered at once."""

    def __init__(self, has: Available | None) -> None:
        self._has = has

    def is_done_within(self, seconds: float) -> bool:
        return True

    def answer(self) -> StatusAnswer:
        return StatusAnswer(self._has, "" if self._has else "connection refused")


class Network:
    """Nodes with the blocks that each has, and a clock."""

    def __init__(self, order: Order = Order.PRIORITY_THEN_LATENCY, *nodes: BlockNode) -> None:
        self.now = 1000.0
        self.has: dict[BlockNode, Available | None] = dict.fromkeys(nodes or (C, B, A), ALL)
        self.asked: list[BlockNode] = []
        self.scheduler = Scheduler(lambda: list(self.has), self.poll, Rules(order), lambda: self.now)

    def poll(self, each: BlockNode) -> FixedAnswer:
        self.asked.append(each)
        return FixedAnswer(self.has[each])

    def chosen(self, number: int | None = 7) -> BlockNode:
        return self.scheduler.choose(number)[0]


def test_the_lowest_priority_comes_first_and_then_the_sooner_node():
    network = Network()
    assert network.scheduler.ordered() == [A, B, C]

    network.scheduler.measured(B, 0.1)
    network.scheduler.measured(C, 0.01)

    assert network.scheduler.ordered() == [B, A, C]


def test_the_order_of_latency_heeds_no_priority():
    network = Network(Order.LATENCY)
    network.scheduler.measured(B, 0.1)
    network.scheduler.measured(C, 0.01)

    assert network.scheduler.ordered() == [C, B, A]


def test_the_order_of_priority_heeds_no_latency():
    network = Network(Order.PRIORITY)
    network.scheduler.measured(B, 0.01)

    assert network.scheduler.ordered() == [A, B, C]


def test_the_first_node_that_has_the_block_is_chosen():
    network = Network()
    network.has |= {A: None, B: Available(8, 20)}

    assert network.chosen(7) == C
    assert network.chosen(8) == B


def test_no_other_node_is_asked_while_the_preferred_one_has_the_block():
    network = Network()

    assert network.chosen(7) == A
    assert network.asked == [A]


def test_a_node_that_has_all_before_the_block_will_have_it_soon():
    network = Network()
    network.has |= {A: Available(0, 6), B: Available(0, 5), C: None}

    assert network.chosen(7) == A


def test_a_node_that_has_the_block_comes_before_one_that_will_have_it_soon():
    network = Network()
    network.has |= {A: Available(0, 6), B: None, C: ALL}

    assert network.scheduler.choose(7) == (C, 7, SelectionReason.FIRST)
    network.has[C] = None
    assert network.scheduler.choose(7) == (A, 7, SelectionReason.NEXT)


def test_the_earliest_block_is_that_of_the_first_node():
    network = Network()
    network.has[A] = Available(31, 40)

    assert network.scheduler.choose(None)[:2] == (A, 31)


def refused(network: Network, number: int) -> str:
    with pytest.raises(BlockNodeFailure) as refusal:
        network.chosen(number)
    return str(refusal.value)


CURE = "See that importer.block.nodes names block nodes that can be reached and have it."


def test_without_a_node_that_has_it_each_node_is_named_with_what_it_has_or_why_it_does_not_tell():
    network = Network()
    network.has |= {B: None, C: Available(7, 9)}

    assert refused(network, 102) == (
        "block nodes: no block node can provide block 102 (a:40840 has blocks 0 to 100; "
        f"b:40840: connection refused; c:40840 has blocks 7 to 9). {CURE}"
    )
    assert [(each["blocks"], each["answer"]) for each in network.scheduler.status(None)] == [
        (ALL, "has blocks 0 to 100"),
        (None, "connection refused"),
        (Available(7, 9), "has blocks 7 to 9"),
    ]


def test_of_many_nodes_that_lack_a_block_some_are_named_and_the_others_counted():
    network = Network(Order.PRIORITY, *(node(f"n{place}", place) for place in range(100)))

    assert refused(network, 102) == (
        "block nodes: no block node can provide block 102 (n0:40840 has blocks 0 to 100; n1:40840 has blocks "
        f"0 to 100; n2:40840 has blocks 0 to 100; and 97 more). {CURE}"
    )


def test_without_any_node_none_is_known():
    network = Network()
    network.has.clear()

    assert "block 102 (none is known)." in refused(network, 102)


def test_a_node_that_will_have_the_block_next_but_is_set_aside_is_named_with_its_failure():
    network = Network(Order.PRIORITY, A)
    for _ in range(3):
        network.scheduler.failed(A, "its block was refused")

    assert "(a:40840 has blocks 0 to 100, and is set aside, as it failed: its block was refused)" in refused(
        network, 101
    )


def test_the_place_that_tells_the_status_is_named_if_the_stream_is_elsewhere():
    apart = BlockNode(Endpoint("status", 1), Endpoint("stream", 2))
    network = Network(Order.PRIORITY, apart)
    network.has[apart] = None

    assert "(stream:2 (its status at status:1): connection refused)" in refused(network, 7)


def test_three_failures_in_a_row_make_a_node_the_last_choice_for_a_minute():
    network = Network()
    for _ in range(2):
        assert not network.scheduler.failed(A)
    network.scheduler.measured(A, 0.1)
    assert network.chosen() == A
    assert network.scheduler.failed(A, "is away")

    assert network.chosen() == B
    (state,) = [each for each in network.scheduler.status(B) if each["name"] == A.name]
    assert (state["last_failure"], state["failures"], state["used"]) == ("is away", 3, False)
    assert abs(state["set_aside_until"] - time.time() - 60) < PATIENCE_SECONDS
    network.now += 59
    assert network.chosen() == B
    network.now += 1
    assert network.chosen() == A


def test_a_node_that_alternates_good_and_bad_blocks_is_left_within_a_minute_and_seldom_used_again():
    network, used = Network(), 0
    for _ in range(50 * 60 // 2):
        network.now += 2
        if network.chosen() == A:
            used += 1
            if used % 2:
                network.scheduler.failed(A)

    assert used < 50


def test_a_stall_sets_a_node_aside_at_once():
    network = Network()

    assert network.scheduler.failed(A, "sends nothing", waited=3.0)
    assert network.chosen() == B


def test_a_node_that_fails_when_it_is_tried_again_is_set_aside_for_longer():
    network = Network()
    for _ in range(3):
        network.scheduler.failed(A)
    network.now += 60
    assert network.chosen() == A

    assert network.scheduler.failed(A)
    network.now += 60
    assert network.chosen() == B


def test_failures_count_less_and_less():
    network = Network()
    for _ in range(10):
        network.now += 1200
        assert not network.scheduler.failed(A)


def test_of_nodes_that_are_set_aside_the_one_that_failed_last_comes_last():
    network = Network(Order.PRIORITY, A, B)
    for node_that_stalls in (B, A):
        network.now += 1
        network.scheduler.failed(node_that_stalls, waited=5.0)

    assert network.scheduler.other_node_with(7, A) == B
    assert network.scheduler.choose(7) == (B, 7, SelectionReason.FORCED)


def test_a_node_that_keeps_failing_has_another_chance_when_no_other_has_the_block():
    network = Network()
    for _ in range(3):
        network.scheduler.failed(A)
    network.has |= {B: None, C: None}

    assert network.scheduler.choose(7) == (A, 7, SelectionReason.FORCED)
    network.has |= {B: ALL, C: ALL}
    assert network.chosen() == A


def test_a_latency_is_a_mean_that_three_misses_forget():
    network = Network()
    network.scheduler.measured(B, 1.0)
    network.scheduler.measured(B, 2.0)
    network.scheduler.measured(A, 1.4)
    assert network.scheduler.ordered()[0] == B

    for _ in range(3):
        network.scheduler.not_measured(B)

    assert network.scheduler.ordered()[0] == A


def test_a_much_sooner_node_is_better_but_not_all_the_time():
    network = Network()
    network.chosen()
    network.scheduler.measured(A, 0.5)
    network.scheduler.measured(B, 0.46)
    network.scheduler.measured(C, 0.1)

    network.now += 11
    assert network.scheduler.better_than(A, 0.0) is None
    network.scheduler.measured(B, 0.1)
    assert network.scheduler.better_than(A, 0.0) == B
    assert network.scheduler.better_than(A, 1.5) is None
    network.chosen()
    assert network.scheduler.better_than(A, 0.0) is None


def test_only_by_latency_may_a_node_of_less_priority_be_better():
    network = Network(Order.LATENCY)
    network.scheduler.measured(A, 0.5)
    network.scheduler.measured(C, 0.1)

    assert network.scheduler.better_than(A, 0.0) == C
