"""One block of the past, from a block node that still has it."""

from contextlib import closing, suppress

from ledger.ingest.following.configured_blocks import Nodes, limits
from ledger.stream.errors import StreamFileError
from ledger.stream.record.record_file import RecordFile
from ledger.stream.source.block_node.client import BlockNodeClient
from mirror.core import config

_STATUS_TIMEOUT = "importer.block.stream.responseTimeout"


def fetch(number: int, block_hash: str) -> bytes | None:
    """Return the block of a hash (hex) as a file has it, from the first block node that gives it.

    None if none does: a node may give any other block as that of a number. Errors: OperatorError.
    """
    for node in Nodes()():
        with closing(BlockNodeClient(node, limits(originals=True))) as client, suppress(StreamFileError):
            file = _from(client, number)
            if file is not None and _hash_of(file) == block_hash:
                return file.original
    return None


def _hash_of(file: RecordFile) -> str:
    return file.hash if file.wrapper is None else file.wrapper.hash


def _from(client: BlockNodeClient, number: int) -> RecordFile | None:
    """Errors: StreamFileError."""
    available = client.available(config.value(_STATUS_TIMEOUT))
    if available is None or not available.has(number):
        return None
    seconds = config.value("importer.downloader.timeout")
    with closing(client.subscribe(number, number, seconds_per_block=seconds)) as subscription:
        block = subscription.next(seconds)
        return None if block is None else block.file
