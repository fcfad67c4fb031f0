"""A process that receives one block from a block node, and says how much memory that took."""

import re
import sys
import time
from pathlib import Path

from ledger.stream.errors import StreamFileError
from ledger.stream.source.block_node.assembly import Limits
from ledger.stream.source.block_node.client import BlockNode, BlockNodeClient, Endpoint

_PATIENCE_SECONDS = 120.0


def receive(port: int) -> None:
    """Receive one block, and say what came, how long it took, and the most memory of this process."""
    endpoint = Endpoint("127.0.0.1", port)
    client = BlockNodeClient(BlockNode(endpoint, endpoint), Limits())
    began = time.monotonic()
    try:
        subscription = client.subscribe(0, seconds_per_block=_PATIENCE_SECONDS)
        block = subscription.next(_PATIENCE_SECONDS)
        outcome = f"a block of {block.file.count:,} transactions" if block else "nothing"
    except StreamFileError as error:
        outcome = error.cause
    took = time.monotonic() - began
    most = int(re.findall(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[0]) >> 10
    client.close()
    print(f"{outcome} | {took:.1f} | {most:,}")


if __name__ == "__main__":
    receive(int(sys.argv[1]))
