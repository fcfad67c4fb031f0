"""The blocks of a live network."""

import threading

from mirror.core.config import clock
from mirror.demo.actions import topics
from mirror.demo.live.producing import next_blocks
from tests.mirror.demo.lives import items, life

MINUTE = 60 * 10**9


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
