"""Verification: stream files are read once more and compared with the tables.

Nothing is written. Files are read as when they were loaded, with what was known then: the address book and
the stakes of their time, and the entities there were.
"""

from bisect import bisect_left
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from typing import NamedTuple

from ledger import loaded_ranges
from ledger.ingest import IngestError
from ledger.ingest.comparison import differences
from ledger.ingest.hash_chain import Position, block_number
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.file_rows import FileRows
from ledger.ingest.rows.lookups import EntityLookup, FileContents
from ledger.ingest.rows.persist import Persist
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile
from ledger.stream.signature.quorum import NoAddressBook
from ledger.stream.source.stream_file import StreamFile
from mirror.core.db import statements
from mirror.core.values import timestamp
from mirror.core.values.timestamp import MAX, iso_text

# So many transactions, or files, are compared at once.
_MAX_ITEMS, _MAX_FILES = 20_000, 200

# Rows of these tables are of a whole file.
_FILE_TABLES = ("record_file", "sidecar_file")

_BLOCKS = "select consensus_end, name, index from record_file where consensus_end between %s and %s"
# The entity that had the alias or address just before a time; later deletions do not count.
_ENTITY = """
    select e.id from entity e
    where e.{column} = %(value)s and case
        when lower(e.timestamp_range) < %(at)s then e.deleted <> true
        else coalesce(
            (select h.deleted <> true from entity_history h
             where h.id = e.id and h.timestamp_range @> %(before)s::bigint limit 1),
            e.created_timestamp < %(at)s)
        end
    order by e.id limit 1"""


@dataclass(frozen=True)
class Finding:
    """A difference or a fault: the file, the position in it, and what is wrong."""

    file: str
    position: str
    what: str

    def __str__(self) -> str:
        return f"{self.file}: {self.position}: {self.what}" if self.position else f"{self.file}: {self.what}"


@dataclass
class NotLoaded:
    """Files in a row that no loaded range has, `lacking` if loading began before them. Times are ns."""

    lacking: bool
    files: int
    first: str
    last: str
    start: int
    end: int

    def __str__(self) -> str:
        times = f"{iso_text(self.start)} to {iso_text(self.end)}"
        if self.files == 1:
            return f"{self.first} ({times})"
        return f"{self.files:,} files from {self.first} to {self.last} ({times})"


@dataclass
class Checked:
    """The files that a verification has gone through; those `not_loaded` are not compared."""

    files: int = 0
    skipped: int = 0
    transactions: int = 0
    signed: int = 0
    findings: int = 0
    not_loaded: list[NotLoaded] = field(default_factory=list)

    @property
    def lacking(self) -> int:
        """The number of files that should be loaded, as files before them are."""
        return sum(gap.files for gap in self.not_loaded if gap.lacking)


class _PastEntities(EntityLookup):
    """Entities as they were when the stream reached a time (ns)."""

    consensus_timestamp = MAX

    def _stored(self, column: str, value: bytes) -> int:
        values = {"value": value, "at": self.consensus_timestamp, "before": self.consensus_timestamp - 1}
        return statements.value(_ENTITY.format(column=column), values) or 0


class _ReadFile(NamedTuple):
    file: RecordFile
    batch: Batch


class Verification:
    """Verifies files in consensus order; calls `found` with findings, `report` with the progress."""

    def __init__(
        self,
        *,
        quorums: Quorums | None,
        found: Callable[[Finding], None],
        report: Callable[[Checked], None] | None = None,
    ) -> None:
        self.checked = Checked()
        self._quorums, self._found = quorums, found
        self._report = report or (lambda checked: None)
        self._rows = FileRows()
        self._lookup, self._persist, self._files = _PastEntities(), Persist(), FileContents()
        self._persist.publishes_topics = False
        self._last: Position | None = None
        self._group: list[_ReadFile] = []
        self._stopping = False
        self._loaded = loaded_ranges.UNKNOWN
        # Whether the file before was not loaded either.
        self._after_gap = False

    def stop(self) -> None:
        """Finish after the file at hand; safe to call from a signal handler."""
        self._stopping = True

    def run(self, files: Iterable[StreamFile]) -> Checked:
        items, self._loaded = 0, loaded_ranges.read()
        for source in files:
            if self._stopping:
                break
            file = self._read(source)
            self.checked.files += 1
            if file is None:
                self._compare()
                items = 0
            else:
                self.checked.transactions += file.count
                items += file.count
                if items >= _MAX_ITEMS or len(self._group) >= _MAX_FILES:
                    self._compare()
                    items = 0
            self._report(self.checked)
        self._compare()
        return self.checked

    def _read(self, source: StreamFile) -> RecordFile | None:
        """Read a file and its rows, and add it to the group; None when it is damaged."""
        try:
            if self._quorums:
                source = source.verify(self._quorums.quorum_at, sidecars=self._rows.reads_sidecars)
            file = source.record_file()
            self._lookup.consensus_timestamp = file.consensus_start
            last = self._last or Position.before_file(file)
            if last:
                file = last.joined(file)
                if not self._continues(last, file):
                    self._compare()
            self._last = Position.from_file(file, _block_number(file, last))
            batch = Batch(self._lookup, self._persist, self._files)
            self._rows.add(batch, source, file, index=self._last.index, load_start=0)
            self._files.submitted()
        except NoAddressBook:
            raise
        except (StreamFileError, IngestError) as error:
            position = error.position if isinstance(error, IngestError) else ""
            if isinstance(error, StreamFileError) and error.position:
                position = f"byte {error.position}"
            self._report_finding(error.file, position, error.cause)
            # The next file has to follow the stored row of this one.
            self._last = None
            self._files.clear()
            return None
        if source.signed_by or source.proved:
            self.checked.signed += 1
        self._group.append(_ReadFile(file, batch))
        return file

    def _continues(self, last: Position, file: RecordFile) -> bool:
        try:
            last.require_next(file)
        except IngestError as error:
            self._report_finding(file.name, error.position, error.cause)
            return False
        return True

    # COMPARISON

    def _compare(self) -> None:
        group, self._group = self._group, []
        if not group:
            return
        first, last = group[0].file.consensus_start, group[-1].file.consensus_end
        stored = {end: (name, index) for end, name, index in statements.rows(_BLOCKS, [first, last])}
        for read in group:
            is_stored = read.file.consensus_end in stored
            is_not_loaded = self._loaded.is_known and not self._loaded.has_time(read.file.consensus_end)
            if not is_stored and is_not_loaded:
                self._add_not_loaded(read.file)
                continue
            self._after_gap = False
            if not is_stored:
                self._report_finding(read.file.name, "", "the database does not have it: load it")
        for end in sorted(stored.keys() - {read.file.consensus_end for read in group}):
            name, index = stored[end]
            self._report_finding(name, "", f"block {index} of the database is none of the given files")
        for run in _consecutive_files(group, stored.keys()):
            self._compare_files(run)

    def _add_not_loaded(self, file: RecordFile) -> None:
        gaps = self.checked.not_loaded
        lacking = file.consensus_end > self._loaded.intervals[0].end
        if self._after_gap and gaps[-1].lacking == lacking:
            gap = gaps[-1]
            gap.files, gap.last, gap.end = gap.files + 1, file.name, file.consensus_end
        else:
            gaps.append(NotLoaded(lacking, 1, file.name, file.name, file.consensus_start, file.consensus_end))
        self._after_gap = True

    def _compare_files(self, run: Sequence[_ReadFile]) -> None:
        files = [read.file for read in run]
        ends = [file.consensus_end for file in files]
        genesis = files[0].genesis
        # The contents of files that a network begins with have times just before it.
        first = files[0].consensus_start - (len(genesis.files) if genesis else 0)
        with closing(differences([read.batch for read in run], first, files[-1].consensus_end)) as compared:
            for difference in compared:
                time = difference.consensus_timestamp
                file = files[min(bisect_left(ends, time), len(files) - 1)]
                self._report_finding(file.name, _position(file, time, difference.table), str(difference))

    def _report_finding(self, file: str, position: str, what: str) -> None:
        self.checked.findings += 1
        self._found(Finding(file, position, what))


def _block_number(file: RecordFile, last: Position | None) -> int:
    """Return the number that the block should have; the stored one for a first file without a number."""
    if file.block_number is None and last is None:
        index = statements.value(
            "select index from record_file where consensus_end = %s", [file.consensus_end]
        )
        if index is not None:
            return int(index)
    return block_number(file, last)


def _consecutive_files(group: Iterable[_ReadFile], stored: Collection[int]) -> Iterator[list[_ReadFile]]:
    """Yield runs of files that follow each other in the database too; files that it lacks are left out."""
    files = {read.file.consensus_end: read for read in group}
    run: list[_ReadFile] = []
    for end in sorted({*stored, *files}):
        if end in stored and end in files:
            run.append(files[end])
        elif run:
            yield run
            run = []
    if run:
        yield run


def _position(file: RecordFile, consensus_timestamp: int, table: str) -> str:
    if table in _FILE_TABLES:
        return ""
    for item in file.items:
        if item.consensus_timestamp == consensus_timestamp:
            return f"transaction {item.index} at {timestamp.text(consensus_timestamp)}"
    return f"at {timestamp.text(consensus_timestamp)}"
