"""Histories of a simulated network without tokens and contracts."""

from collections.abc import Iterable, Iterator
from typing import Any

from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.actions import batches, crypto, files, genesis, nodes, people, schedules, system, topics
from mirror.demo.network import Network
from mirror.demo.publish.history import wait
from mirror.demo.streams.record_files import Block, ComposedTransaction

ACTIONS = (
    *(*batches.ACTIONS, *crypto.ACTIONS, *files.ACTIONS, *people.ACTIONS, *nodes.ACTIONS),
    *(*schedules.ACTIONS, *crypto.STAKING, *system.ACTIONS, *topics.ACTIONS),
)
HOUR = 3_600 * NANOS_PER_SECOND


def play(seed: int, blocks: int, transactions: int, pause: int = 0) -> Iterator[tuple[Network, Block]]:
    """Yield the blocks of a network that only performs these actions, with a pause (ns) between two."""
    network = Network(seed, ACTIONS)
    genesis.begin(network)
    for _ in range(blocks):
        network.act(transactions)
        yield network, network.close()
        for block in wait(network, network.now + pause):
            yield network, block


def life(seed: int, blocks: int, transactions: int, pause: int = 0) -> tuple[Network, list[Block]]:
    """Return the network at the end, and all its blocks."""
    lives = list(play(seed, blocks, transactions, pause))
    return lives[-1][0], [block for _, block in lives]


def rows(objects: Iterable[object], fields: str) -> list[tuple[Any, ...]]:
    """Return the attributes of each object with these names, which spaces separate."""
    return [tuple(getattr(each, name) for name in fields.split()) for each in objects]


def items(blocks: list[Block]) -> list[ComposedTransaction]:
    return [item for block in blocks for item in block.transactions]
