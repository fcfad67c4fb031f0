"""Programs that begin while blocks are streamed: prints how each ended that did not end well.

In a process of its own, which is much smaller than that of all tests and forks the faster.
"""

import os
import subprocess
import threading

from mirror.demo.publish.block_node import BlockNodeServer
from tests.ledger.stream.source.block_node.test_client import FIRST, blocks, received

BLOCKS, PROGRAMS = 20, 200


def main() -> None:
    over = threading.Event()

    def stream() -> None:
        while not over.is_set():
            received(server, end=FIRST + BLOCKS - 1)

    with BlockNodeServer() as server:
        for block in blocks(BLOCKS):
            server.publish(block.number, block.content)
        thread = threading.Thread(target=stream)
        thread.start()
        try:
            for _ in range(PROGRAMS):
                # A program with a user of its own Python forks, which else it does not.
                ended = subprocess.run(["true"], user=os.geteuid(), stderr=subprocess.PIPE, check=False)
                if ended.returncode or ended.stderr:
                    print(ended)
        finally:
            over.set()
            thread.join()


if __name__ == "__main__":
    main()
