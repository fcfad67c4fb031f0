"""Blocks put together from the messages of a block node, item by item as they arrive."""

import time
from dataclasses import dataclass
from typing import Any

from ledger.stream.block import names
from ledger.stream.block.block_file import of_content
from ledger.stream.block.items import BlockReader
from ledger.stream.errors import StreamFileError
from ledger.stream.record.record_file import RecordFile
from ledger.stream.source.block_node.api_pb2 import SubscribeStreamResponse
from mirror import logs
from mirror.metrics import ingest
from mirror.values.hapi import BlockItem, DecodeError

log = logs.logger(__name__)

ANOTHER_NODE = "Another block node is asked, if one is known; this one is asked again later."
_HEADER = BlockItem.BLOCK_HEADER_FIELD_NUMBER
_LENGTH_DELIMITED = 2


@dataclass(frozen=True)
class Limits:
    """The most items and bytes of a block, and the most bytes of a message with some of its items."""

    items: int = 800_000
    block_bytes: int = 512 << 20
    message_bytes: int = 125 << 20


class BlockNodeFailure(StreamFileError):
    """A block node can't be used at the moment: it is away, slow, or sends what is no stream of blocks."""

    kind = ingest.SOURCE


class Assembler:
    """The block that is being received from a node, which `node` names in messages."""

    def __init__(self, node: str, limits: Limits) -> None:
        self._node = node
        self._limits = limits
        self._reader: BlockReader | None = None
        self._items = self._bytes = 0
        #: When the last item of the last block had arrived (monotonic seconds).
        self.last_item_at = 0.0

    @property
    def is_pending(self) -> bool:
        return self._reader is not None

    def take(self, response: SubscribeStreamResponse) -> RecordFile | None:
        """Take a message; return the block that it completes. Errors: StreamFileError."""
        kind = response.WhichOneof("response")
        if kind == "block_items":
            self._take_items(response.block_items.block_items)
        elif kind == "end_of_block":
            return self._end(response.end_of_block.block_number)
        elif kind == "status":
            raise self._failure(f"has ended the stream with the status {_named(response.status)}")
        else:
            raise self._failure("has sent a message of an unknown kind")
        return None

    def _take_items(self, items: Any) -> None:
        if not items:
            log.warning("empty_block_items", node=self._node)
            return
        if _is_header(items[0]):
            if self._reader is not None:
                raise self._failure("has begun a new block while the one before it was not complete")
            self._reader = BlockReader(self._node)
            self._items = self._bytes = 0
        elif self._reader is None:
            raise self._failure("has begun a block with another item than its header")
        self._items += len(items)
        if self._items > self._limits.items:
            raise self._failure(
                f"has sent a block of more than {self._limits.items:,} items",
                "importer.block.stream.maxBlockItems is the limit.",
            )
        for item in items:
            position = self._bytes
            self._bytes += len(item)
            if self._bytes > self._limits.block_bytes:
                raise self._failure(
                    f"has sent a block of more than {self._limits.block_bytes:,} bytes",
                    "importer.block.stream.maxBlockSize is the limit.",
                )
            try:
                self._reader.add(position, item)
            except DecodeError as error:
                raise self._failure(f"has sent an item that can't be parsed ({error})") from error
        self.last_item_at = time.monotonic()

    def _end(self, number: int) -> RecordFile | None:
        if self._reader is None:
            log.warning("end_of_no_block", node=self._node, block=number)
            return None
        content = self._reader.finish(self._bytes)
        self._reader = None
        content.name = names.streamed(number)
        if content.header.number != number:
            raise self._failure(f"has ended block {content.header.number} as block {number}")
        return of_content(content, number, self._bytes)

    def _failure(self, cause: str, cure: str = "") -> BlockNodeFailure:
        return BlockNodeFailure(self._node, 0, f"the block node {cause}", cure or ANOTHER_NODE)


def _is_header(item: bytes) -> bool:
    return bool(item) and item[0] == _HEADER << 3 | _LENGTH_DELIMITED


def _named(status: int) -> str:
    try:
        name: str = SubscribeStreamResponse.Code.Name(status)
    except ValueError:
        return str(status)
    return name
