"""The choice of a block node."""

import pytest

from ledger.stream.source.block_node.assembly import BlockNodeFailure
from ledger.stream.source.block_node.client import Available, BlockNode, Endpoint
from ledger.stream.source.block_node.scheduler import Order, Rules, Scheduler, Why

ALL = Available(0, 100)


def node(name: str, priority: int = 0) -> BlockNode:
    return BlockNode(Endpoint(name, 40840), Endpoint(name, 40840), priority)


A, B, C = node("a"), node("b"), node("c", 1)


class Told:
    """A question that is answered at once."""

    def __init__(self, has: Available | None) -> None:
        self._has = has

    def is_answered_within(self, seconds: float) -> bool:
        return True

    def answer(self) -> Available | None:
        return self._has


class Network:
    """Nodes with the blocks that each has, and a clock."""

    def __init__(self, order: Order = Order.PRIORITY_THEN_LATENCY, *nodes: BlockNode) -> None:
        self.now = 1000.0
        self.has: dict[BlockNode, Available | None] = dict.fromkeys(nodes or (C, B, A), ALL)
        self.asked: list[BlockNode] = []
        self.scheduler = Scheduler(lambda: list(self.has), self.ask, Rules(order), lambda: self.now)

    def ask(self, each: BlockNode) -> Told:
        self.asked.append(each)
        return Told(self.has[each])

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

    assert network.scheduler.choose(7) == (C, 7, Why.FIRST)
    network.has[C] = None
    assert network.scheduler.choose(7) == (A, 7, Why.NEXT)


def test_the_earliest_block_is_that_of_the_first_node():
    network = Network()
    network.has[A] = Available(31, 40)

    assert network.scheduler.choose(None)[:2] == (A, 31)


def test_without_a_node_that_has_it_the_nodes_are_named():
    network = Network()

    with pytest.raises(
        BlockNodeFailure, match=r"block 101 .*a:40840, b:40840, c:40840|can provide block 102"
    ):
        network.chosen(102)


def test_three_failures_in_a_row_make_a_node_the_last_choice_for_a_minute():
    network = Network()
    for _ in range(2):
        assert not network.scheduler.failed(A)
    network.scheduler.measured(A, 0.1)
    assert network.chosen() == A
    assert network.scheduler.failed(A, "is away")

    assert network.chosen() == B
    (state,) = [each for each in network.scheduler.states() if each.node == A]
    assert (state.set_aside, state.failure) == (60, "is away")
    network.now += 60
    assert network.chosen() == A


def test_a_block_that_is_accepted_forgets_the_failures_before_it():
    network = Network()
    for _ in range(2):
        network.scheduler.failed(A)
    network.scheduler.succeeded(A)
    for _ in range(2):
        network.scheduler.failed(A)

    assert network.chosen() == A


def test_a_node_that_keeps_failing_has_another_chance_when_no_other_has_the_block():
    network = Network()
    for _ in range(3):
        network.scheduler.failed(A)
    network.has |= {B: None, C: None}

    assert network.scheduler.choose(7) == (A, 7, Why.FORCED)
    network.has |= {B: ALL, C: ALL}
    assert network.chosen() == A


def test_a_latency_is_a_mean_that_three_misses_forget():
    network = Network()
    network.scheduler.measured(B, 1.0)
    network.scheduler.measured(B, 2.0)
    network.scheduler.measured(A, 1.4)
    assert network.scheduler.ordered()[0] == B

    for _ in range(3):
        network.scheduler.missed(B)

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
