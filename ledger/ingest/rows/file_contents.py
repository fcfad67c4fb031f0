"""The content of files at the item being read: init code and call data that transactions store in a file.

Source: file_data, and the chunks of the two batches that are not committed yet: the one being read and the
one being written. So the answer does not depend on when batches are committed.
"""

from typing import NamedTuple

from cachetools import LRUCache

from ledger.file_content import content_parts
from mirror.core.db import statements
from mirror.core.values import entity_id, hexadecimal
from mirror.core.values.hapi.transaction_types import NUMBERS

CACHE_SIZE = 100

_CREATE, _UPDATE = NUMBERS["FILECREATE"], NUMBERS["FILEUPDATE"]
_MAX_SYSTEM_NUM = 999

_STORED = content_parts("and consensus_timestamp < %s", "and f.consensus_timestamp < %s")


class Chunk(NamedTuple):
    """The bytes one transaction put into a file; a row of file_data."""

    consensus_timestamp: int
    transaction_type: int
    data: bytes

    @property
    def starts(self) -> bool:
        """The content begins here; an update without content changes nothing."""
        return self.transaction_type == _CREATE or (self.transaction_type == _UPDATE and bool(self.data))


class FileContents:
    """Contents of user files; system files (up to number 999) never hold code or call data."""

    def __init__(self) -> None:
        self._read: dict[int, list[Chunk]] = {}
        self._writing: dict[int, list[Chunk]] = {}
        self._decoded: LRUCache[int, bytes | None] = LRUCache(CACHE_SIZE)

    def add(self, file: int, chunk: Chunk) -> None:
        """Note a row of file_data that the item being read adds."""
        if not _is_user_file(file):
            return
        self._read.setdefault(file, []).append(chunk)
        self._decoded.pop(file, None)

    def decoded(self, file: int, timestamp: int) -> bytes | None:
        """Return the bytes that a user file holds in hex, as of a consensus timestamp; None if unknown."""
        if not _is_user_file(file):
            return None
        if file not in self._decoded:
            content = self._content(file, timestamp)
            self._decoded[file] = None if content is None else _decode_hex(content)
        return self._decoded[file]

    def submitted(self) -> None:
        """Note that the batch at hand is handed to the writer; the one before it is committed."""
        self._writing, self._read = self._read, {}

    def clear(self) -> None:
        self._read, self._writing = {}, {}
        self._decoded.clear()

    def _content(self, file: int, timestamp: int) -> bytes | None:
        chunks = [*self._writing.get(file, ()), *self._read.get(file, ())]
        starts = [index for index, chunk in enumerate(chunks) if chunk.starts]
        if starts:
            return b"".join(chunk.data for chunk in chunks[starts[-1] :])
        stored = self._stored(file, chunks[0].consensus_timestamp if chunks else timestamp)
        return b"".join([*stored, *(chunk.data for chunk in chunks)]) if stored else None

    def _stored(self, file: int, before: int) -> list[bytes]:
        """Return the stored parts of the content before a time (ns)."""
        return [bytes(part) for part, _ in statements.rows(_STORED, [file, before, file, before])]


def _is_user_file(file: int) -> bool:
    return entity_id.decode(file)[2] > _MAX_SYSTEM_NUM


def _decode_hex(content: bytes) -> bytes | None:
    try:
        return hexadecimal.parse(content.decode("ascii"))
    except (UnicodeDecodeError, hexadecimal.InvalidHex):
        return None
