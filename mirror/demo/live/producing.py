"""The blocks of a live network, as time passes."""

import threading
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from mirror.core.config import clock
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.demo.streams.record_files import Block

if TYPE_CHECKING:
    # Not imported at run time, as it takes long and only the process of the network needs it.
    from mirror.demo.network import Network

Say = Callable[[str], None]

SOURCE = "the live demo network"
TPS = 5
# Loaded blocks are not needed any more, but an auditor may want to look at the last ones.
BLOCKS_RETAINED = 1_000
# What is over is forgotten after so many blocks, so that they take no longer after days than at first.
BLOCKS_REMEMBERED = 100


def next_blocks(network: "Network", stopping: threading.Event) -> Iterator[Block | None]:
    """Yield the blocks of a network as time passes, None before it waits for the next one."""
    # Imported here, as only this process needs it.
    from mirror.demo.actions import topics
    from mirror.demo.live.forgetting import forget
    from mirror.demo.publish.history import BLOCK_SECONDS, next_block, wait

    while True:
        yield None
        if stopping.wait(BLOCK_SECONDS - time.time() % BLOCK_SECONDS):
            return
        # A block holds the transactions of the two seconds before it.
        yield from wait(network, clock.now_ns() - BLOCK_SECONDS * NANOS_PER_SECOND)
        # A new subscriber of that topic gets a message within one block.
        topics.submit_to_oldest(network)
        block = next_block(network, TPS)
        if block.number % BLOCKS_REMEMBERED == 0:
            forget(network.world)
        yield block
