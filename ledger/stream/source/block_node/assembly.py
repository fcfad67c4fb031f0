"""Blocks put together from the messages of a block node, item by item as they arrive."""

import time
from dataclasses import dataclass
from typing import Any

from ledger.stream import block_names
from ledger.stream.block.block_file import OriginalBlock, record_file_of_block
from ledger.stream.block.block_items import BlockReader
from ledger.stream.block.records import RecordMaker
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile
from ledger.stream.source.block_node.api_pb2 import SubscribeStreamResponse
from mirror.core import logs
from mirror.core.metrics import ingest
from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import BlockItem, DecodeError

log = logs.logger(__name__)

RETRY_HINT = "Another block node is asked, if one is known; this one is asked again later."
_HEADER = BlockItem.BLOCK_HEADER_FIELD_NUMBER
# Items of a larger message are counted before it is parsed: each takes 32 bytes in memory, even if empty.
_LARGE_MESSAGE = 8 << 20
# The most messages without an item in a row.
_MAX_EMPTY = 100
_ITEMS_FIELD = SubscribeStreamResponse.BLOCK_ITEMS_FIELD_NUMBER


@dataclass(frozen=True)
class Limits:
    """The most items and bytes of a block, and the most bytes of a message with some of its items.

    `originals`: blocks have their bytes, as the archive or the database stores them. `block_seconds` and
    `status_seconds` are the times to wait for a block and for a status; closing a subscription waits for its
    thread, but not longer than `shutdown_seconds`.
    """

    items: int = 800_000
    block_bytes: int = 512 << 20
    message_bytes: int = 125 << 20
    originals: bool = False
    block_seconds: float = 5.0
    status_seconds: float = 5.0
    shutdown_seconds: float = 5.0


class BlockNodeFailure(StreamFileError):
    """A block node can't be used now: it is unavailable, slow, or sends no stream of blocks."""

    kind = ingest.SOURCE

    def __init__(self, node: str, cause: str, cure: str = RETRY_HINT) -> None:
        super().__init__(node, 0, cause, cure)

    def __str__(self) -> str:
        # A stream of messages has no byte to name.
        message = f"{self.file}: {self.cause}"
        return f"{message}. {self.cure}" if self.cure else message


class BlockNodeStall(BlockNodeFailure):
    """A block node does not send a block that exists; `waited` is the time (s)."""

    def __init__(self, node: str, cause: str, waited: float) -> None:
        super().__init__(node, cause)
        self.waited = waited


class Assembler:
    """The block that is being received from a node; `warned` has the odd messages that are logged."""

    def __init__(self, node: str, limits: Limits, warned: set[str] | None = None) -> None:
        self._node = node
        self._limits = limits
        self._warned: set[str] = set() if warned is None else warned
        # The number of odd messages since the last item.
        self._empty = 0
        self._reader: BlockReader | None = None
        self._records: RecordMaker | None = None
        self._original: OriginalBlock | None = None
        self._items = self._bytes = 0
        #: When the last item of the last block had arrived (monotonic seconds).
        self.last_item_at = 0.0

    @property
    def is_pending(self) -> bool:
        return self._reader is not None

    def parse(self, data: bytes) -> SubscribeStreamResponse:
        """Return a message. Errors: BlockNodeFailure, also if it has more items than a block may have."""
        try:
            if len(data) > _LARGE_MESSAGE and self._has_too_many_items(data):
                raise self._too_many_items()
            return SubscribeStreamResponse.FromString(data)
        except DecodeError as error:
            raise self._failure(f"has sent a message that can't be parsed ({error})") from error

    def _has_too_many_items(self, data: bytes) -> bool:
        count = 0
        for each in wire.fields(data):
            if each.number == _ITEMS_FIELD and each.wire_type == wire.LENGTH_DELIMITED:
                for _ in wire.fields(data, each.value, each.end):
                    count += 1
                    if count > self._limits.items:
                        return True
        return False

    def take(self, response: SubscribeStreamResponse) -> RecordFile | None:
        """Take a message; return the block that it completes. Errors: StreamFileError."""
        field = response.WhichOneof("response")
        if field == "block_items":
            self._add_items(response.block_items.block_items)
        elif field == "end_of_block":
            return self._end(response.end_of_block.block_number)
        elif field == "status":
            raise self._failure(f"has ended the stream with the status {_status_name(response.status)}")
        else:
            raise self._failure("has sent a message of an unknown kind")
        return None

    def _add_items(self, items: Any) -> None:
        if not items:
            if self._skip("empty"):
                log.warning("empty_block_items", node=self._node)
            return
        self._empty = 0
        if _is_header(items[0]):
            if self._reader is not None:
                raise self._failure("has begun a new block while the one before it was not complete")
            self._reader = BlockReader(self._node)
            self._records = RecordMaker(self._reader.block)
            self._original = OriginalBlock() if self._limits.originals else None
            self._items = self._bytes = 0
        elif self._reader is None:
            raise self._failure("has begun a block with another item than its header")
        self._items += len(items)
        if self._items > self._limits.items:
            raise self._too_many_items()
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
            if self._original:
                self._original.add(item)
        self.last_item_at = time.monotonic()
        block = self._reader.block
        block.name = block_names.streamed(block.header.number)
        if self._records:
            # Most of the work is done before the block ends.
            self._records.advance()

    def _end(self, number: int) -> RecordFile | None:
        if self._reader is None:
            if self._skip("end"):
                log.warning("unexpected_block_end", node=self._node, block=number)
            return None
        content = self._reader.finish(self._bytes)
        records, self._reader, self._records = self._records, None, None
        content.name = block_names.streamed(number)
        if content.header.number != number:
            raise self._failure(f"has ended block {content.header.number} as block {number}")
        items = records.finish() if records and content.record_file is None else None
        file = record_file_of_block(content, number, self._bytes, items)
        if self._original:
            file.original = self._original.finish()
        return file

    def _skip(self, name: str) -> bool:
        """Skip an odd message; return whether to log it. Errors: BlockNodeFailure after many."""
        self._empty += 1
        if self._empty >= _MAX_EMPTY:
            raise self._failure(f"has sent {self._empty} messages one after another that hold nothing")
        is_new = name not in self._warned
        self._warned.add(name)
        return is_new

    def _too_many_items(self) -> BlockNodeFailure:
        return self._failure(
            f"has sent a block of more than {self._limits.items:,} items",
            "importer.block.stream.maxBlockItems is the limit.",
        )

    def _failure(self, cause: str, cure: str = RETRY_HINT) -> BlockNodeFailure:
        return BlockNodeFailure(self._node, f"the block node {cause}", cure)


def _is_header(item: bytes) -> bool:
    return bool(item) and item[0] == _HEADER << 3 | wire.LENGTH_DELIMITED


def _status_name(status: int) -> str:
    codes: dict[int, str] = {code: name for name, code in SubscribeStreamResponse.Code.items()}
    return codes.get(status, str(status))
