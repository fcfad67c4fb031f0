"""The hash chain: which files are loaded, which is the last, and if the next file follows it."""

from bisect import bisect_left
from dataclasses import dataclass, replace
from operator import itemgetter
from typing import Any

from ledger.ingest import IngestError
from ledger.stream.block import block_file
from ledger.stream.record_file import RecordFile
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config
from mirror.core.db import statements
from mirror.core.metrics import ingest
from mirror.core.values.hashes import describe_difference

NO_HASH = "0" * 96

# Rows of loaded files are read so many at a time; by the key and the index record_file__index.
_WINDOW = 1_000
_COLUMNS = "name, consensus_end, hash, index, version, wrapped_record_block_hash"
# Index: the primary key (consensus_end).
_LAST = f"select {_COLUMNS} from record_file order by consensus_end desc limit 1"
_LAST_BEFORE = f"""
    select {_COLUMNS} from record_file where consensus_end < %s order by consensus_end desc limit 1"""
_BY_TIME = """
    select consensus_end, consensus_start from record_file where consensus_end >= %s
    order by consensus_end limit %s"""
_BY_NUMBER = "select index, version from record_file where index >= %s order by index limit %s"
# Index: record_file__index.
_OF_NUMBER = f"select {_COLUMNS} from record_file where index = %s limit 1"
_STORED = "select 1 from record_file where consensus_end = %s and hash = %s"

# Files have had numbers of their own since this version; before it they are counted.
_NUMBERED = 6

_OTHERS = (
    "Name files of the network and the history that the database has, or load these into another database."
)
_BLOCK_AROUND = (
    "If other sources have the same block, load its file by `manage.py ingest --allow-gap`: its signature is "
    "verified all the same, but not what it follows."
)


def chained(previous_hash: str, last_hash: str) -> bool:
    """Return whether a file may follow the one of `last_hash`, which may be unknown."""
    return last_hash in ("", NO_HASH) or previous_hash == last_hash


@dataclass(frozen=True)
class Position:
    """The last file of the stream. Source: the record_file row with the greatest consensus_end.

    `wrapper_hash` is the hash of the block that the file came wrapped in, None for a file that came alone.
    """

    name: str
    consensus_end: int
    hash: str
    index: int
    version: int
    wrapper_hash: str | None = None

    @classmethod
    def stored(cls) -> "Position | None":
        return cls._from_row(statements.row(_LAST))

    @classmethod
    def before_file(cls, file: RecordFile) -> "Position | None":
        return cls._from_row(statements.row(_LAST_BEFORE, [file.consensus_end]))

    @classmethod
    def by_number(cls, number: int) -> "Position | None":
        """Return the stored file with a block number, which may be counted."""
        return cls._from_row(statements.row(_OF_NUMBER, [number]))

    @classmethod
    def _from_row(cls, row: tuple[Any, ...] | None) -> "Position | None":
        if row is None:
            return None
        name, consensus_end, hash, index, version, wrapper = row
        return cls(name, consensus_end, hash, index, version, bytes(wrapper).hex() if wrapper else None)

    @classmethod
    def from_file(cls, file: RecordFile, index: int) -> "Position":
        wrapper_hash = file.wrapper.hash if file.wrapper else None
        return cls(file.name, file.consensus_end, file.hash, index, file.version, wrapper_hash)

    def reaches(self, source: StreamFile) -> bool:
        """Return whether the stream has reached a file, by its name: the file is loaded or left out."""
        if source.number is None:
            return source.instant <= self.consensus_end
        return source.number <= self.index

    def is_followed_by(self, file: RecordFile) -> bool:
        try:
            self.require_next(file)
        except IngestError:
            return False
        return True

    def require_next(self, file: RecordFile) -> None:
        """Require this one's hash as previous hash, and the next number. Errors: IngestError."""
        self._require_next_number(file)
        if self._is_end_of_records(file):
            self._require_first_block(file)
            return
        if not chained(file.previous_hash, self.hash):
            raise self.broken_chain(file)
        problem = self.wrapper_problem(file)
        if problem and file.block_signature:
            raise IngestError(
                file.name, "footer", f"{problem}: the chain is broken", _BLOCK_AROUND, kind=ingest.CHAIN
            )

    def broken_chain(self, file: RecordFile) -> IngestError:
        previous, own = describe_difference(file.previous_hash, self.hash)
        hashes = f"its previous hash {previous} is not the hash {own} of {self.name}"
        cause = f"{hashes}, the last file loaded (block {self.index}): the chain is broken"
        cure = "Load the files between the two first; if they are lost for good, use --allow-gap."
        if self.is_right_before(file):
            cause += (
                ", and as no block is between the two, they are not of the same history of the same network"
            )
            cure = _OTHERS
        return IngestError(file.name, "header", cause, cure, kind=ingest.CHAIN)

    def is_right_before(self, file: RecordFile) -> bool:
        """Return whether a file has the next block number, as far as neither number was counted."""
        return self.has_own_number and file.block_number == self.index + 1

    def _require_first_block(self, file: RecordFile) -> None:
        """Require that a network's first block follows the one around the last record file, if known."""
        previous_hash = file.previous_wrapper_hash or file.previous_hash
        if not self.wrapper_hash or previous_hash == self.wrapper_hash:
            return
        previous, own = describe_difference(previous_hash, self.wrapper_hash)
        raise IngestError(
            file.name,
            "header",
            f"its previous hash {previous} is not the hash {own} of the block "
            f"that {self.name}, the last record file, came wrapped in",
            _BLOCK_AROUND,
            kind=ingest.CHAIN,
        )

    def joined(self, file: RecordFile) -> RecordFile:
        """Return a file as it is stored after this one.

        A network's first block names the block around the last record file, which few have. So that blocks
        stay one chain, its previous hash becomes that of the record file itself.
        """
        if file.block_number != self.index + 1 or not self._is_end_of_records(file):
            return file
        return replace(file, previous_hash=self.hash, previous_wrapper_hash=file.previous_hash)

    def wrapper_problem(self, file: RecordFile) -> str:
        """Say how the block around a file does not follow the one around this file; "" if it does."""
        previous_hash = file.previous_wrapper_hash if file.wrapper else None
        if not self.wrapper_hash or not previous_hash or previous_hash == self.wrapper_hash:
            return ""
        previous, own = describe_difference(previous_hash, self.wrapper_hash)
        return (
            f"the block it is wrapped in follows {previous}, not {own}, the block {self.name} is wrapped in"
        )

    def _is_end_of_records(self, file: RecordFile) -> bool:
        return file.version == block_file.VERSION and self.version != block_file.VERSION

    def _require_next_number(self, file: RecordFile) -> None:
        numbered = file.version == block_file.VERSION or (file.wrapper is not None and self.has_own_number)
        if numbered and file.block_number != self.index + 1:
            raise IngestError(
                file.name,
                "header",
                f"block {file.block_number} does not follow block {self.index}, the last one loaded",
                "Load the blocks between the two first; if they are lost for good, use --allow-gap.",
                kind=ingest.CHAIN,
            )

    @property
    def has_own_number(self) -> bool:
        """Whether the block number is the network's own, and not counted."""
        return self.wrapper_hash is not None or self.version >= _NUMBERED


@dataclass(frozen=True, slots=True)
class ChainedFile:
    """A file with its block number, and its place in the chain.

    `last` is the last file before it, and `follows` says whether it continues that one's chain.
    `block_offset` is to be added to the numbers counted so far, and `wrapper_problem` says how the block
    around it does not follow the one around `last`.
    """

    file: RecordFile
    last: Position | None
    index: int
    follows: bool = False
    block_offset: int = 0
    wrapper_problem: str = ""


class LoadedFiles:
    """The files that the database has. Calls come in stream order; `last` need not be stored yet."""

    def __init__(self) -> None:
        self._by_time, self._by_number = _Window(_BY_TIME), _Window(_BY_NUMBER)
        self._compared = False

    def has(self, source: StreamFile, last: Position) -> bool:
        """Return whether the database has this file, by its name.

        The first file is compared as a whole, as files of another stream may have the same names. Errors:
        StreamFileError.
        """
        if self._compared and self._has_name(source):
            return True
        has = self.has_content(source.record_file(), last)
        self._compared = self._compared or has
        return has

    def has_content(self, file: RecordFile, last: Position) -> bool:
        """Return whether the database has this very file."""
        if (file.consensus_end, file.hash) == (last.consensus_end, last.hash):
            return True
        return statements.row(_STORED, [file.consensus_end, file.hash]) is not None

    def _has_name(self, source: StreamFile) -> bool:
        if source.number is None:
            return self._by_time.first(source.instant)[1] == source.instant
        number, version = self._by_number.first(source.number)
        return number == source.number and version >= _NUMBERED


class _Window:
    """Some rows of a statement that returns pairs of numbers, ordered by the first."""

    def __init__(self, statement: str) -> None:
        self._statement = statement
        self._rows: list[tuple[int, int]] = []
        self._start = 0

    def first(self, at_least: int) -> tuple[int, int]:
        """Return the first pair that begins with this number or a greater one, else (-1, -1)."""
        if not self._rows or not self._start <= at_least <= self._rows[-1][0]:
            self._rows, self._start = statements.rows(self._statement, [at_least, _WINDOW]), at_least
        index = bisect_left(self._rows, at_least, key=itemgetter(0))
        return self._rows[index] if index < len(self._rows) else (-1, -1)


def left_out(file: RecordFile, last: Position) -> IngestError:
    """Return the error for a file that the stream has passed without loading it."""
    if last.is_right_before(file) and not chained(file.previous_hash, last.hash):
        return last.broken_chain(file)
    stored = None if file.block_number is None else Position.by_number(file.block_number)
    if stored and stored.has_own_number and stored.hash != file.hash:
        loaded, own = describe_difference(stored.hash, file.hash)
        return IngestError(
            file.name,
            "",
            f"the database has another block {stored.index}, {stored.name} with the hash {loaded}, and this "
            f"one has the hash {own}: they are not of the same history of the same network",
            _OTHERS,
            kind=ingest.CHAIN,
        )
    return IngestError(
        file.name,
        "",
        f"the database has not loaded it, but later ones, up to {last.name} (block {last.index}): a file "
        "can't be put between them",
        "Load all files in their order into a second database (mirror/docs/history.md), or leave it out and "
        "name only files after the last one loaded.",
        kind=ingest.CHAIN,
    )


def block_number(file: RecordFile, last: Position | None) -> int:
    """Return the file's own block number or, before format 6, one more than the last."""
    if file.block_number is not None:
        return file.block_number
    return last.index + 1 if last else int(config.value("importer.startBlockNumber"))


def provisional_offset(file: RecordFile, last: Position | None) -> int:
    """Return what to add to counted block numbers so that this file's own number follows; 0 for nothing."""
    if last is None or last.version >= 6 or file.block_number is None:
        return 0
    if file.wrapper and file.previous_hash != last.hash:
        # The last number was not counted: it is that of an earlier wrapped file.
        return 0
    return file.block_number - last.index - 1


def begins_network(file: RecordFile) -> bool:
    return file.block_number == 0 or file.previous_hash in ("", NO_HASH)
