"""Where the stream stands: which files are loaded, which is the last, and whether the next continues it."""

from bisect import bisect_left
from dataclasses import dataclass
from operator import itemgetter

from django.db import connection

from ledger.ingest.errors import IngestError
from ledger.stream.block import block_file
from ledger.stream.record.record_file import RecordFile
from ledger.stream.source.stream_file import StreamFile
from mirror import config

NO_HASH = "0" * 96

# So many of the files that are loaded are read at once; by the key and the index record_file__index.
_WINDOW = 1_000
_BY_TIME = """
    select consensus_end, consensus_start from record_file where consensus_end >= %s
    order by consensus_end limit %s"""
_BY_NUMBER = "select index, version from record_file where index >= %s order by index limit %s"
_STORED = "select 1 from record_file where consensus_end = %s and hash = %s"

# From this version on files have their numbers themselves; those before may be counted anew.
_NUMBERED = 6


@dataclass(frozen=True)
class Position:
    """The last file of the stream. Source: the record_file row with the greatest consensus_end.

    `wrapper_hash` is the hash of the block it came wrapped in, if it did; only a running loader knows it.
    """

    name: str
    consensus_end: int
    hash: str
    index: int
    version: int
    wrapper_hash: str | None = None

    @classmethod
    def stored(cls) -> "Position | None":
        with connection.cursor() as cursor:
            cursor.execute(
                "select name, consensus_end, hash, index, version from record_file "
                "order by consensus_end desc limit 1"
            )
            row = cursor.fetchone()
        return cls(*row) if row else None

    @classmethod
    def after(cls, file: RecordFile, index: int) -> "Position":
        wrapper_hash = file.wrapper.hash if file.wrapper else None
        return cls(file.name, file.consensus_end, file.hash, index, file.version, wrapper_hash)

    def reaches(self, source: StreamFile) -> bool:
        """Whether the stream has come as far as a file, as its name tells: the file is loaded or left out."""
        if source.number is None:
            return source.instant <= self.consensus_end
        return source.number <= self.index

    def require_next(self, file: RecordFile) -> None:
        """The file's previous hash must be the hash of this one, a block's number the next.

        Errors: IngestError.
        """
        self._require_next_number(file)
        self._require_next_wrapper(file)
        if file.version == block_file.VERSION and self.version != block_file.VERSION:
            # Where a network goes over to blocks these chain to the one around the last record file.
            last_hash = self.wrapper_hash or ""
        else:
            last_hash = self.hash
        if last_hash in ("", NO_HASH) or file.previous_hash == last_hash:
            return
        raise IngestError(
            file.name,
            "header",
            f"its previous hash {file.previous_hash[:16]}… is not the hash {last_hash[:16]}… of {self.name}, "
            f"the last file loaded (block {self.index}): the chain is broken",
            "Load the files between the two first; if they are lost for good, use --allow-gap.",
        )

    def _require_next_number(self, file: RecordFile) -> None:
        if file.version == block_file.VERSION and file.block_number != self.index + 1:
            raise IngestError(
                file.name,
                "header",
                f"block {file.block_number} does not follow block {self.index}, the last one loaded",
                "Load the blocks between the two first; if they are lost for good, use --allow-gap.",
            )

    def _require_next_wrapper(self, file: RecordFile) -> None:
        previous_hash = file.wrapper.previous_hash if file.wrapper else None
        if self.wrapper_hash and previous_hash and previous_hash != self.wrapper_hash:
            raise IngestError(
                file.name,
                "footer",
                f"the block it is wrapped in follows {previous_hash[:16]}…, not {self.wrapper_hash[:16]}…, "
                f"the block {self.name} is wrapped in",
                "Load the blocks between the two first; if they are lost for good, use --allow-gap.",
            )


class LoadedFiles:
    """The files the database has. Ask in the order of the stream, and only about files it has come as far as.

    `last` is the last file read, which need not be stored yet.
    """

    def __init__(self) -> None:
        self._by_time, self._by_number = _Window(_BY_TIME), _Window(_BY_NUMBER)
        self._compared = False

    def has(self, source: StreamFile, last: Position) -> bool:
        """Whether the database has this file. Its name tells that; but the first is compared as a whole, for
        files of another stream may have the same names.

        Errors: StreamFileError.
        """
        if self._compared and self._has_name(source):
            return True
        found = self.has_content(source.record_file(), last)
        self._compared = self._compared or found
        return found

    def has_content(self, file: RecordFile, last: Position) -> bool:
        """Whether the database has this very file."""
        if (file.consensus_end, file.hash) == (last.consensus_end, last.hash):
            return True
        with connection.cursor() as cursor:
            cursor.execute(_STORED, [file.consensus_end, file.hash])
            return cursor.fetchone() is not None

    def _has_name(self, source: StreamFile) -> bool:
        if source.number is None:
            return self._by_time.first(source.instant)[1] == source.instant
        number, version = self._by_number.first(source.number)
        return number == source.number and version >= _NUMBERED


class _Window:
    """A part of the rows of a statement that gives pairs of numbers, ordered by the first."""

    def __init__(self, statement: str) -> None:
        self._statement = statement
        self._rows: list[tuple[int, int]] = []
        self._start = 0

    def first(self, at_least: int) -> tuple[int, int]:
        """The first pair that begins with this number or a greater one; (-1, -1) if there is none."""
        if not self._rows or not self._start <= at_least <= self._rows[-1][0]:
            with connection.cursor() as cursor:
                cursor.execute(self._statement, [at_least, _WINDOW])
                self._rows, self._start = cursor.fetchall(), at_least
        found = bisect_left(self._rows, at_least, key=itemgetter(0))
        return self._rows[found] if found < len(self._rows) else (-1, -1)


def left_out(file: RecordFile, last: Position) -> IngestError:
    """A file that the stream has passed without loading it."""
    return IngestError(
        file.name,
        "",
        f"the database has not loaded it, but later ones, up to {last.name} (block {last.index}): a file "
        "can't be put between them",
        "Load it and those after it, in one go or in order, into an empty database; or leave it out and name "
        "only files after the last one loaded.",
    )


def block_number(file: RecordFile, last: Position | None) -> int:
    """The file's own block number, or, before format 6, one more than the last."""
    if file.block_number is not None:
        return file.block_number
    return last.index + 1 if last else int(config.value("importer.startBlockNumber"))


def provisional_offset(file: RecordFile, last: Position | None) -> int:
    """What block numbers counted before format 6 lack to end where the numbers in the files begin; 0
    normally.
    """
    if last is None or last.version >= 6 or file.block_number is None:
        return 0
    if file.wrapper and file.previous_hash != last.hash:
        # The last number is not a counted one, but that of a wrapped file somewhere before.
        return 0
    return file.block_number - last.index - 1
