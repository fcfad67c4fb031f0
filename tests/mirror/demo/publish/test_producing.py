"""The blocks of a live network, which forgets what is over while every action still happens."""

import threading
from collections.abc import Callable

import pytest

from mirror.core.config import clock
from mirror.demo.actions import genesis, topics
from mirror.demo.network import Network
from mirror.demo.publish.history import ALL, next_block
from mirror.demo.publish.producing import next_blocks, prune
from tests.mirror.demo.lives import items, life

MINUTE = 60 * 10**9
TPS = 20


def test_each_block_has_a_message_of_the_oldest_topic_that_is_free_for_all() -> None:
    network, _ = life(seed=3, blocks=20, transactions=40)
    oldest = min(number for number, topic in network.world.topics.items() if topic.is_free)
    # Those before it let the years pass since the network began.
    block = next(
        block
        for block in next_blocks(network, threading.Event())
        if block is not None and network.now > clock.now_ns() - MINUTE
    )

    submitted = [
        item.body.consensusSubmitMessage.topicID.topicNum
        for item in items([block])
        if item.body.HasField("consensusSubmitMessage")
    ]
    assert submitted[0] == oldest


def test_a_network_without_such_a_topic_submits_nothing() -> None:
    network, _ = life(seed=3, blocks=20, transactions=40)
    for topic in network.world.topics.values():
        topic.deleted = True
    before = network.counts.total()

    topics.submit_to_oldest(network)

    assert network.counts.total() == before


def test_network_ahead_of_the_clock_waits_and_says_so(
    settings_of: Callable[..., None], caplog: pytest.LogCaptureFixture
) -> None:
    network, _ = life(seed=3, blocks=20, transactions=40)
    settings_of({"clock.now": (network.now - 1440 * MINUTE) / 10**9})
    blocks = next_blocks(network, threading.Event())

    assert [next(blocks) for _ in range(3)] == [None] * 3
    assert caplog.text.count("demo_network_waits") == 1

    settings_of({"clock.now": network.now / 10**9})
    block = next(filter(None, blocks))
    assert block.transactions


@pytest.fixture(scope="module")
def aged() -> Network:
    """A network that forgets after every block."""
    network = Network(5, ALL)
    genesis.begin(network)
    while network.counts.total() < 6_000:
        next_block(network, TPS)
        prune(network.world)
    return network


def test_everything_happens_in_a_network_that_forgets(aged):
    assert {action.perform for action in ALL} == set(aged.performed)


def test_only_the_last_of_what_is_over_is_kept(aged):
    world = aged.world
    for known in (world.topics, world.files, world.tokens.issued, world.nodes.by_id, world.schedules):
        over = [one for one in known.values() if getattr(one, "deleted", False)]
        assert len(over) <= 30
    assert max(len(topic.messages) for topic in world.topics.values()) <= 20


def test_nothing_kept_refers_to_what_was_forgotten(aged):
    world = aged.world
    contracts = world.contracts
    for number, contract in contracts.deployed.items():
        assert world.accounts[number].is_contract
        assert contracts.by_address[contract.address] == number
        assert contract.creator is None or contract.creator in contracts.deployed
        assert set(contract.parties) <= world.accounts.keys()
    assert {number for numbers in contracts.living.values() for number in numbers} == set(contracts.deployed)
    assert all(hook.contract in contracts.deployed for hook in contracts.hooks.values())
    assert {token for _, _, token in world.tokens.token_allowances} <= world.tokens.issued.keys()
