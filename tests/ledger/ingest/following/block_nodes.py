"""A block node that publishes a few blocks, and their first taker."""

import time
from typing import Any

from mirror.demo.publish.block_node import BlockNodeServer
from tests.ledger.stream.block.blocks import BlockStream
from tests.waiting import PATIENCE_SECONDS


def publish(server: BlockNodeServer, blocks: int = 3) -> None:
    stream = BlockStream(first_block=7)
    for _ in range(blocks):
        stream.happen("cryptoTransfer")
        block = stream.block()
        server.publish(block.number, block.content)


def first(source: Any, number: int) -> Any:
    until = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < until:
        if block := source.next(number, 0.01):
            return block
    return None
