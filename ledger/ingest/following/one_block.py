"""One block of the past, from a block node that still has it."""

from contextlib import closing, suppress

from ledger.ingest.following.configured_blocks import Nodes
from ledger.stream.errors import StreamFileError
from ledger.stream.source.block_node.assembly import Limits
from ledger.stream.source.block_node.client import BlockNodeClient
from mirror import config

_STREAM = "importer.block.stream."


def fetch(number: int) -> bytes | None:
    """Return a block as a file has it, from the first block node that gives it; None if none does."""
    limits = Limits(
        items=config.value(_STREAM + "maxBlockItems"),
        block_bytes=config.value(_STREAM + "maxBlockSize"),
        message_bytes=config.value(_STREAM + "maxStreamResponseSize"),
        originals=True,
    )
    for node in Nodes()():
        with closing(BlockNodeClient(node, limits)) as client, suppress(StreamFileError):
            if (block := _from(client, number)) is not None:
                return block
    return None


def _from(client: BlockNodeClient, number: int) -> bytes | None:
    """Errors: StreamFileError."""
    available = client.available(config.value(_STREAM + "responseTimeout"))
    if available is None or not available.has(number):
        return None
    seconds = config.value("importer.downloader.timeout")
    with closing(client.subscribe(number, number, seconds_per_block=seconds)) as subscription:
        block = subscription.next(seconds)
        return None if block is None else block.file.original
