"""The content of files at the item being read, for init code and call data that transactions keep in one.

Source: file_data, and the chunks of batches that are not committed yet: that of the items being read, and
the one being written meanwhile. So the answer does not depend on what is committed when.
"""

from collections import OrderedDict
from typing import NamedTuple

from django.db import connection

from mirror.values import entity_id, hexes
from mirror.values.transaction_types import NUMBERS

CACHE_SIZE = 100

_CREATE, _UPDATE = NUMBERS["FILECREATE"], NUMBERS["FILEUPDATE"]
_MAX_SYSTEM_NUM = 999

# The rows since the last one that starts the content anew, by the index file_data__id_timestamp.
_STORED = """
    with start as (
        select max(consensus_timestamp) as consensus_timestamp from file_data
        where entity_id = %(file)s and consensus_timestamp < %(before)s
            and (transaction_type = %(create)s or transaction_type = %(update)s and length(file_data) > 0)
    )
    select data.file_data from file_data data, start
    where data.entity_id = %(file)s and data.consensus_timestamp < %(before)s
        and data.consensus_timestamp >= start.consensus_timestamp
    order by data.consensus_timestamp"""


class Chunk(NamedTuple):
    """What one transaction put into a file; as a row of file_data."""

    consensus_timestamp: int
    transaction_type: int
    data: bytes

    @property
    def starts(self) -> bool:
        """Whether the content begins here; an update without content changes nothing."""
        return self.transaction_type == _CREATE or (self.transaction_type == _UPDATE and bool(self.data))


class FileContents:
    """Contents of user files; those of system files (up to number 999) are never code or call data."""

    def __init__(self) -> None:
        self._read: dict[int, list[Chunk]] = {}
        self._writing: dict[int, list[Chunk]] = {}
        self._assembled: OrderedDict[int, bytes | None] = OrderedDict()

    def add(self, file: int, chunk: Chunk) -> None:
        """Note a row of file_data that the item being read adds."""
        if not _of_user(file):
            return
        self._read.setdefault(file, []).append(chunk)
        self._assembled.pop(file, None)

    def decoded(self, file: int, at: int) -> bytes | None:
        """The bytes of a file that holds them in hex, at the item of consensus timestamp `at`.

        None when the file is not known, not hex, or a system file.
        """
        if not _of_user(file):
            return None
        if file in self._assembled:
            self._assembled.move_to_end(file)
            return self._assembled[file]
        content = self._content(file, at)
        decoded = None if content is None else _of_hex(content)
        self._assembled[file] = decoded
        if len(self._assembled) > CACHE_SIZE:
            self._assembled.popitem(last=False)
        return decoded

    def submitted(self) -> None:
        """The batch being read goes to the writer; the one before it is committed."""
        self._writing, self._read = self._read, {}

    def forget(self) -> None:
        """After a batch was not committed: nothing is known but what is stored."""
        self._read, self._writing = {}, {}
        self._assembled.clear()

    def _content(self, file: int, at: int) -> bytes | None:
        chunks = [*self._writing.get(file, ()), *self._read.get(file, ())]
        starts = [index for index, chunk in enumerate(chunks) if chunk.starts]
        if starts:
            return b"".join(chunk.data for chunk in chunks[starts[-1] :])
        with connection.cursor() as cursor:
            cursor.execute(
                _STORED,
                {
                    "file": file,
                    "before": chunks[0].consensus_timestamp if chunks else at,
                    "create": _CREATE,
                    "update": _UPDATE,
                },
            )
            stored = [bytes(row[0]) for row in cursor.fetchall()]
        return b"".join([*stored, *(chunk.data for chunk in chunks)]) if stored else None


def _of_user(file: int) -> bool:
    return entity_id.decode(file)[2] > _MAX_SYSTEM_NUM


def _of_hex(content: bytes) -> bytes | None:
    try:
        return hexes.parse(content.decode("ascii"))
    except (UnicodeDecodeError, hexes.InvalidHex):
        return None
