"""Serving the blocks of a folder as a block node does, for tests of clients of block nodes."""

import threading
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from ledger.stream.block import names
from mirror.core.config.errors import OperatorError
from mirror.demo.publish.block_folder import BlockFolder
from mirror.demo.publish.block_node import BlockNodeServer

Say = Callable[[str], None]

_LOOK_SECONDS = 1.0


class NoBlocks(OperatorError):
    exit_code = 2


def serve(say: Say, folder: Path, port: int, stopping: threading.Event) -> None:
    """Serve the blocks below a folder, and those that are added to it, until stopped. Errors: OperatorError.

    The folder is that of a network, which has the folder `block`, or of a bucket; there the last network
    counts, as a network that began anew has a folder with the date.
    """
    network = folder
    if not (folder / names.FOLDER).is_dir():
        networks = [path.parent for path in folder.glob(f"*/{names.FOLDER}") if path.is_dir()]
        network = max(networks, key=lambda path: path.name, default=folder)
    blocks = BlockFolder(network)
    if not blocks:
        raise NoBlocks(
            f"There is no block below {folder}: name a folder with blocks in its folder `block`, or in that "
            "of one network, such as `manage.py demo --blocks-stream` makes."
        )
    with BlockNodeServer(port, folder=blocks, named_by="--port") as server:
        say(
            f"A block node at 127.0.0.1:{server.port} serves the blocks {min(blocks)} to {max(blocks)} of "
            f"{network}{_missing(blocks)}. Ctrl-C stops it."
        )
        while not stopping.wait(_LOOK_SECONDS):
            server.look()


def _missing(blocks: BlockFolder) -> str:
    """Return how many blocks between the first and the last one are missing, as the end of a sentence."""
    gaps = [(one + 1, other - 1) for one, other in pairwise(blocks) if other > one + 1]
    if not gaps:
        return ""
    count = sum(last - first + 1 for first, last in gaps)
    return f" (missing: {count:,}, from block {gaps[0][0]} on)"
