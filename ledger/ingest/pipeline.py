"""The pipeline from stream files to tables: each batch of whole files in one database transaction.

One thread reads files and builds rows while another writes the batch before. The tables always hold a prefix
of the stream that ends with a whole file; loading goes on after the last `record_file` row. Commits wait for
the disk: a crash loses no block that a client has seen.
"""

import gc
import logging
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

from django.db import connection, transaction

from ledger.archive.originals import ArchiveSelection
from ledger.ingest import coverage, stored_network
from ledger.ingest.balances.start import Start
from ledger.ingest.chain import LoadedFiles, Position, block_number, left_out, provisional_offset
from ledger.ingest.computed.balance_snapshots import Snapshots
from ledger.ingest.coverage import Coverage, Range
from ledger.ingest.errors import IngestError, TableSwapRequested
from ledger.ingest.loader_lock import is_wanted, loader_lock
from ledger.ingest.lookup.entities import EntityLookup
from ledger.ingest.lookup.file_contents import FileContents
from ledger.ingest.prefetch.applying import OrderedEntities, OrderedFileContents, take
from ledger.ingest.prefetch.deferred_lookups import DirtyKeys
from ledger.ingest.prefetch.processes import Arrival, Readers
from ledger.ingest.prefetch.reading import PrefetchRequest, ReadFile
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.file_rows import FileRows
from ledger.ingest.rows.persist import Persist
from ledger.ingest.rows.registry import start_work
from ledger.ingest.trust import Trust, changes_nodes
from ledger.stream.errors import StreamFileError
from ledger.stream.record.record_file import RecordFile
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config, logs
from mirror.core.config import clock
from mirror.core.metrics import ingest
from mirror.models import LOADER_LOCK

if TYPE_CHECKING:
    from ledger.archive.archiver import Archiver, Portion

log = logs.logger(__name__)

# The first batch has only so many transactions, and each later one at most twice as many: the writer, which
# takes longest, has something to do as soon as possible.
_FIRST_ITEMS = 2_500
# How often a run looks if a backfill wants to put its tables in place.
_SECONDS_BETWEEN_LOOKS = 1.0

_TABLE = "select 'record_file'::regclass::oid"


@dataclass
class Progress:
    """The work that a run has done so far."""

    files: int = 0
    skipped: int = 0
    transactions: int = 0
    bytes: int = 0
    # Files from before the balances that loading begins with.
    earlier: int = 0
    # Files that a quorum signed, those of them with a threshold signature, and the nodes that signed others.
    verified: int = 0
    proved: int = 0
    signed_by: frozenset[int] = frozenset()
    # Files that were taken as another process had read them ahead.
    ahead: int = 0
    last: Position | None = None
    # The time of the last balance snapshot, or what stands for it (ns).
    snapshot: int | None = None
    # The range of loaded files that the last one lies in.
    covered: Range | None = None


class _Added(NamedTuple):
    """What the log says of a file once it is committed; `ms` is the time that its rows took to make."""

    name: str
    block: int
    items: int
    rows: int
    ms: int
    consensus_end: int


class Pipeline:
    """Loads the stream files that follow what is stored.

    `report` is called after every file and every commit. With `trust`, published files have to be signed by a
    quorum. With `start` (ns), a gap that ends there is allowed. If nothing is stored, loading begins with
    `balances`, and with the first file that ends after them. `progress` is that of an earlier run, to be
    added to; `committed` is the part of it that is stored for certain, however the run ends. `readers` read
    files on disk ahead. A run that `yield_to_backfill` ends with MakingWay when a backfill wants to put its
    tables in place. With `require_archive` it ends where a file that is to be kept can't be, instead of going
    on without. `lock` is another than the loaders' for a run that loads into tables of its own.
    """

    def __init__(
        self,
        *,
        allow_gap: bool = False,
        trust: Trust | None = None,
        start: int | None = None,
        balances: Start | None = None,
        report: Callable[[Progress], None] | None = None,
        progress: Progress | None = None,
        stopping: threading.Event | None = None,
        readers: Readers | None = None,
        yield_to_backfill: bool = False,
        require_archive: bool = False,
        lock: int = LOADER_LOCK,
    ) -> None:
        self.progress = progress or Progress()
        self.committed = self._submitted = replace(self.progress)
        self._allow_gap = allow_gap
        self._trust = trust
        self._start = start
        self._balances = balances
        self._report = report or (lambda progress: None)
        self._readers = readers
        self._yield_to_backfill, self._next_look = yield_to_backfill, 0.0
        self._require_archive = require_archive
        self._archiver: Archiver | None = None
        # Those files of the batch at hand that are to be kept.
        self._kept: Portion | None = None
        self._lock = lock
        # The table of blocks when the run began.
        self._table = 0
        self._touched = DirtyKeys()
        self._lookup = OrderedEntities(self._touched) if readers else EntityLookup()
        self._files = OrderedFileContents(self._touched) if readers else FileContents()
        self._loaded = LoadedFiles()
        self._persist = Persist()
        self._rows = FileRows(balances.last + 1) if balances else FileRows()
        self._snapshots = Snapshots()
        self._coverage = Coverage()
        self._max_items: int = config.value("importer.parser.record.batch.maxItems")
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None
        self._stopping = stopping or threading.Event()
        # Set when the file read last changes the nodes or their stakes.
        self._nodes_change = False
        # Those of the batch at hand.
        self._added: list[_Added] = []
        # The ranges that the files of the batch at hand lie in, by their start.
        self._ranges: dict[int, Range] = {}

    def stop(self) -> None:
        """Finish after the batch at hand; safe to call from a signal handler."""
        self._stopping.set()

    def run(self, files: Iterable[StreamFile | None]) -> Progress:
        """Load those of `files` (in consensus order) that are not loaded yet; None says that none follows for
        now.

        Errors: StreamFileError for a file that is damaged, IngestError for one that does not follow. The
        files before it are loaded, nothing of it is.
        """
        with loader_lock(self._lock), _fewer_collections():
            self._table = _start()
            self.progress.last = Position.stored()
            self.progress.snapshot = self._snapshots.last_stored()
            if self.progress.last:
                self._balances = None
            elif self._balances:
                self.progress.snapshot = self._balances.file.consensus_timestamp
            self.progress.covered = Range.ending_at(self.progress.last)
            self._archiver = _archiver(stops=self._require_archive)
            self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="writer")
            try:
                self._load(files)
            finally:
                self._writer.submit(_close_connection).result()
                self._writer.shutdown()
                if self._archiver:
                    self._archiver.close()
        return self.progress

    def _load(self, files: Iterable[StreamFile | None], *, ahead: bool = True) -> None:
        batch, loaded, start = self._new_batch(), list[StreamFile](), replace(self.progress)
        items, most, arrivals = 0, min(_FIRST_ITEMS, self._max_items), self._arrivals(files, ahead=ahead)
        try:
            for file, asked, read in arrivals:
                if self._stopping.is_set():
                    break
                if file is None:
                    # Make the files so far visible, and raise the error if they can't be written.
                    self._submit(batch)
                    batch, loaded, start, items = self._new_batch(), [], replace(self.progress), 0
                    continue
                taken = self._add_file(batch, file, self._usable(asked, read))
                if taken is None:
                    continue
                loaded.append(file)
                items += taken
                self._report(self.progress)
                if items >= most or self._nodes_change:
                    self._submit(batch)
                    most = min(most * 2, self._max_items)
                    if self._nodes_change and self._trust:
                        # Who has to sign the next file stands in the tables once this is written.
                        self._finish_writing()
                        self._trust.forget()
                    batch, loaded, start, items = self._new_batch(), [], replace(self.progress), 0
        except (StreamFileError, IngestError) as error:
            ingest.REFUSED.add(error.kind)
            # Rows of the file that failed may be among those of the batch: load the files before it alone.
            self._lookup.forget()
            self._files.forget()
            self._finish_writing()
            self.progress = start
            if loaded:
                self._load(loaded, ahead=False)
            raise
        finally:
            arrivals.close()
        self._submit(batch)
        self._finish_writing()

    def _arrivals(self, files: Iterable[StreamFile | None], *, ahead: bool) -> Generator[Arrival, None, None]:
        if self._readers and ahead:
            yield from self._readers.arrivals(files, self._asked)
        else:
            yield from map(Arrival, files)

    def _asked(self, source: StreamFile) -> PrefetchRequest | None:
        """Return by what a file is to be read ahead, None for one that the stream has passed."""
        if self.progress.last and self.progress.last.reaches(source):
            return None
        if self._balances and source.instant <= self._balances.last:
            # Only a part of it is to be loaded.
            return None
        return PrefetchRequest(self._touched.committed, self._trust.latest() if self._trust else None)

    def _usable(self, asked: PrefetchRequest | None, read: ReadFile | None) -> ReadFile | None:
        """Return the file as it was read ahead, unless the files before it have changed what it relied on."""
        if asked is None or read is None:
            return None
        if self._trust and asked.quorum is not self._trust.latest():
            return None
        self._touched.forget(asked.committed)
        return None if self._touched.since(asked.committed, read.questions) else read

    def _new_batch(self) -> Batch:
        self._added, self._ranges = [], {}
        self._kept = self._archiver.portion() if self._archiver else None
        return Batch(self._lookup, self._persist, self._files)

    def _add_file(self, batch: Batch, source: StreamFile, read: ReadFile | None) -> int | None:
        """Add the rows of a file, which may have been read ahead. Return the number of its transactions, None
        when it is loaded already.

        A file that lies before the last one loaded is refused. Only the next file of the chain may begin
        before the last one ends: in blocks, transactions need not be in the order of their times.
        """
        last = self.progress.last
        if last and last.reaches(source) and self._loaded.has(source, last):
            self.progress.skipped += 1
            return None
        load_start = time.time_ns() // 1_000_000
        # Counting the rows takes a while, and only the log asks for it.
        rows_before = len(batch) if log.isEnabledFor(logging.INFO) else None
        if self._trust and not read:
            with ingest.stage("verify"):
                source = source.verify(self._trust.latest_quorum, sidecars=self._reads_sidecars)
        with ingest.stage("read"):
            file = read.file if read else source.record_file()
        if not last and self._balances and file.consensus_end <= self._balances.last:
            self.progress.earlier += 1
            return None
        if last:
            file = last.joined(file)
            if file.consensus_start <= last.consensus_end or last.reaches(source):
                if self._loaded.has_content(file, last):
                    self.progress.skipped += 1
                    return None
                if file.consensus_end <= last.consensus_end or file.previous_hash != last.hash:
                    raise left_out(file, last)
            if not self._allow_gap and not self._starts_anew(last, source):
                last.require_next(file)
                _note_wrapper(batch, file, last.wrapper_problem(file))
            self._shift_blocks(batch, provisional_offset(file, last))
        index = block_number(file, last)
        if read:
            take(batch, read, file, index=index)
            self.progress.ahead += 1
            self._nodes_change = self._trust is not None and read.changes_nodes
        else:
            with ingest.stage("rows"):
                items = self._rows.add(batch, source, file, index=index, load_start=load_start)
            self._nodes_change = self._trust is not None and any(map(changes_nodes, items))
        self.progress.snapshot = self._snapshots.after(batch, file.consensus_end, self.progress.snapshot)
        batch.end_file()
        count, signed_by = (read.count, read.signed_by) if read else (file.count, source.signed_by)
        signed = bool(signed_by) or (read.proved if read else source.proved)
        self.progress.covered = covered = self._coverage.after(
            self.progress.covered,
            file,
            count,
            index,
            signed=signed,
            before=last,
            follows=last is not None and last.is_followed_by(file),
            balances=self._balances,
        )
        self._ranges[covered.consensus_start] = covered
        self.progress.last = Position.after(file, index)
        if self._kept and self._archiver:
            self._kept.add(file, read.originals if read else self._archiver.selection.originals(source, file))
        if rows_before is not None:
            rows, ms = len(batch) - rows_before, time.time_ns() // 1_000_000 - load_start
            self._added.append(_Added(source.name, index, count, rows, ms, file.consensus_end))
        self.progress.files += 1
        self.progress.transactions += count
        self.progress.bytes += file.size
        if signed:
            self.progress.verified += 1
            self.progress.proved += not signed_by
            self.progress.signed_by |= frozenset(signed_by)
        return count

    @property
    def _reads_sidecars(self) -> bool:
        return self._rows.reads_sidecars or (self._archiver is not None and self._archiver.selection.records)

    def _shift_blocks(self, batch: Batch, offset: int) -> None:
        batch.shift_blocks(offset)
        self._ranges = {start: each.shifted(offset) for start, each in self._ranges.items()}
        if self.progress.covered:
            self.progress.covered = self.progress.covered.shifted(offset)

    def _starts_anew(self, last: Position, source: StreamFile) -> bool:
        return self._start is not None and last.consensus_end < self._start <= source.instant

    def _submit(self, batch: Batch) -> None:
        """Hand a batch to the writer once the one before is committed."""
        self._finish_writing()
        self._make_way()
        self._files.submitted()
        self._touched.submit()
        if len(batch) and self._writer:
            self._submitted = replace(self.progress)
            if self._balances:
                batch.begin_with(self._balances.write)
                self._balances = None
            self._writing = self._writer.submit(
                _write, batch, self._kept, self._added, self._ranges, self._table
            )

    def _make_way(self) -> None:
        """Raise MakingWay if a backfill wants to put its tables in place; files so far are read again."""
        if not self._yield_to_backfill or time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _SECONDS_BETWEEN_LOOKS
        with connection.cursor() as cursor:
            if is_wanted(cursor):
                raise TableSwapRequested

    def _finish_writing(self) -> None:
        if self._writing:
            writing, self._writing = self._writing, None
            writing.result()
            self._touched.commit()
            ingest.FILES.add(by=self._submitted.files - self.committed.files)
            ingest.TRANSACTIONS.add(by=self._submitted.transactions - self.committed.transactions)
            self.committed = self._submitted
            self._report(self.progress)


def _note_wrapper(batch: Batch, file: RecordFile, problem: str) -> None:
    """Note that wrapped blocks do not follow each other, though the record files in them do.

    Errors: IngestError when the operator wants to stop at problems.
    """
    if problem and batch.persist.halt_on_error:
        raise IngestError(
            file.name,
            "footer",
            problem,
            "Turn importer.parser.haltOnError off to load it all the same: the record files are in order.",
            kind=ingest.CHAIN,
        )
    if problem:
        batch.note(file.consensus_end, problem, recoverable=True)


def _start() -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        stored_network.remember(cursor)
        for work in start_work():
            work(cursor)
        cursor.execute(_TABLE)
        return int(cursor.fetchone()[0])


def _archiver(*, stops: bool) -> "Archiver | None":
    """Return the archiver, None if the settings select nothing. Errors: OperatorError."""
    wanted = ArchiveSelection.by_settings()
    if not wanted.anything:
        return None
    # The library of buckets takes 5 MB, which a node without an archive does not need.
    from ledger.archive.archiver import Archiver
    from ledger.archive.store import open_archive

    return Archiver(wanted, open_archive(), stops=stops)


def _write(
    batch: Batch,
    kept: "Portion | None",
    added: Sequence[_Added],
    ranges: Mapping[int, Range],
    table: int,
) -> None:
    began = time.monotonic()
    with (
        # COPY raises errors of the client, which nobody above expects.
        connection.wrap_database_errors,
        ingest.stage("commit"),
        transaction.atomic(),
        connection.cursor() as cursor,
        ingest.stage("copy"),
    ):
        # Nobody replaces the tables before the end of the transaction; a session that has lost the loader's
        # lock may find them replaced.
        cursor.execute("lock table record_file in row exclusive mode")
        cursor.execute(_TABLE)
        if cursor.fetchone() != (table,):
            raise TableSwapRequested
        batch.write(cursor)
        coverage.write(cursor, ranges.values())
        if kept:
            # Not before COPY: small files are kept in the time that this takes.
            kept.finish()
            kept.note(cursor)
    if kept:
        kept.count()
    ingest.PROBLEMS.add(by=batch.recoverable_errors)
    if not added:
        return
    log.info("batch_written", files=len(added), rows=len(batch), ms=round((time.monotonic() - began) * 1000))
    now = clock.now_ns()
    for each in added:
        log.info(
            "file_loaded",
            file=each.name,
            block=each.block,
            items=each.items,
            rows=each.rows,
            ms=each.ms,
            lag_ms=(now - each.consensus_end) // 1_000_000,
        )


def _close_connection() -> None:
    """Close the connection of the thread that runs this: Django keeps one per thread."""
    connection.close()


@contextmanager
def _fewer_collections() -> Iterator[None]:
    """Collect garbage less often.

    A batch is millions of objects with hardly a cycle: looking for cycles as often as Python does by default
    takes a fifth of the time.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
