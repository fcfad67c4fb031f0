"""The memory of a process that receives blocks, while a block node sends more than it may."""

import subprocess
import sys
from functools import partial
from itertools import repeat

from ledger.stream.source.block_node.assembly import Limits
from mirror.demo.publish.block_node import BlockNodeServer
from tests.benchmarks.block_nodes.network import OTHERS
from tests.ledger.stream.block.blocks import BlockFile, BlockStream
from tests.ledger.stream.source.block_node.faulty import TOO_MUCH, FaultyNode

_LIMITS = Limits()
_MESSAGE_BYTES = 5_000
_MODULE = "tests.benchmarks.block_nodes.receiving"


def run(megabytes: int) -> bool:
    """Print the most memory of a receiving process for each kind of excess, and for one large block."""
    small = _block(1).content
    print("| what a block node sends | outcome | s | most memory (MB) |\n|---|---|---|---|")
    with BlockNodeServer() as server:
        server.publish(0, small)
        _show("a small block", server.port)
    for fault in sorted(TOO_MUCH):
        with FaultyNode({0: small}, partial(next, repeat(fault)), OTHERS, _LIMITS) as node:
            _show(fault.value, node.port)
    large = _block(megabytes * (1 << 20) // _MESSAGE_BYTES).content
    with BlockNodeServer() as server:
        server.publish(0, large)
        _show(f"a block of {len(large) >> 20} MB", server.port)
    return True


def _block(messages: int) -> BlockFile:
    stream = BlockStream()
    for number in range(messages):
        text = number.to_bytes(8) * (_MESSAGE_BYTES // 8)
        stream.happen("consensusSubmitMessage", {"topicID": {"topicNum": 1}, "message": text})
    return stream.block()


def _show(name: str, port: int) -> None:
    command = [sys.executable, "-m", _MODULE, str(port)]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    print(f"| {name} | {said} |", flush=True)
