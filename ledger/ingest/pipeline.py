"""The pipeline from stream files to tables: each batch of whole files in one database transaction.

One thread reads files and builds rows while another writes the batch before. The tables always hold a prefix
of the stream that ends with a whole file; loading goes on after the last `record_file` row. Commits wait for
the disk: a crash loses no block that a client has seen.
"""

import gc
import logging
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, replace

from django.db import connection, transaction

from ledger.ingest import stored_network
from ledger.ingest.batch import Batch
from ledger.ingest.chain import LoadedFiles, Position, block_number, left_out, provisional_offset
from ledger.ingest.computed.balance_snapshots import Snapshots
from ledger.ingest.errors import IngestError
from ledger.ingest.file_rows import FileRows
from ledger.ingest.loader_lock import loader_lock
from ledger.ingest.lookup.entities import EntityLookup
from ledger.ingest.lookup.file_contents import FileContents
from ledger.ingest.persist import Persist
from ledger.ingest.registry import start_work
from ledger.ingest.trust import Trust, changes_nodes
from ledger.stream.errors import StreamFileError
from ledger.stream.source.stream_file import StreamFile
from mirror import config

log = logging.getLogger(__name__)


@dataclass
class Progress:
    """The work that a run has done so far."""

    files: int = 0
    skipped: int = 0
    transactions: int = 0
    bytes: int = 0
    # Files that a quorum signed, and all nodes that signed one.
    verified: int = 0
    signed_by: frozenset[int] = frozenset()
    last: Position | None = None
    # The time of the last balance snapshot, or what stands for it (ns).
    snapshot: int | None = None


class Pipeline:
    """Loads the stream files that follow what is stored.

    `report` is called after every file and every commit. With `trust`, published files have to be signed by a
    quorum. With `start` (ns), a gap that ends there is allowed. `progress` is that of an earlier run, to be
    added to; `committed` is the part of it that is stored for certain, however the run ends.
    """

    def __init__(
        self,
        *,
        allow_gap: bool = False,
        trust: Trust | None = None,
        start: int | None = None,
        report: Callable[[Progress], None] | None = None,
        progress: Progress | None = None,
        stopping: threading.Event | None = None,
    ) -> None:
        self.progress = progress or Progress()
        self.committed = self._submitted = replace(self.progress)
        self._allow_gap = allow_gap
        self._trust = trust
        self._start = start
        self._report = report or (lambda progress: None)
        self._lookup = EntityLookup()
        self._files = FileContents()
        self._loaded = LoadedFiles()
        self._persist = Persist()
        self._rows = FileRows()
        self._snapshots = Snapshots()
        self._max_items: int = config.value("importer.parser.record.batch.maxItems")
        self._writer: ThreadPoolExecutor | None = None
        self._writing: Future[None] | None = None
        self._stopping = stopping or threading.Event()
        # Set when the file read last changes the nodes or their stakes.
        self._nodes_change = False

    def stop(self) -> None:
        """Finish after the batch at hand; safe to call from a signal handler."""
        self._stopping.set()

    def run(self, files: Iterable[StreamFile | None]) -> Progress:
        """Load those of `files` (in consensus order) that are not loaded yet; None says that none follows for
        now.

        Errors: StreamFileError for a file that is damaged, IngestError for one that does not follow. The
        files before it are loaded, nothing of it is.
        """
        with loader_lock(), _fewer_collections():
            _start()
            self.progress.last = Position.stored()
            self.progress.snapshot = self._snapshots.last_stored()
            self._writer = ThreadPoolExecutor(max_workers=1, thread_name_prefix="writer")
            try:
                self._load(files)
            finally:
                self._writer.submit(_close_connection).result()
                self._writer.shutdown()
        return self.progress

    def _load(self, files: Iterable[StreamFile | None]) -> None:
        batch, loaded, start = self._new_batch(), list[StreamFile](), replace(self.progress)
        items = 0
        try:
            for file in files:
                if self._stopping.is_set():
                    break
                if file is None:
                    # Make the files so far visible, and raise the error if they can't be written.
                    self._submit(batch)
                    batch, loaded, start, items = self._new_batch(), [], replace(self.progress), 0
                    continue
                taken = self._add_file(batch, file)
                if taken is None:
                    continue
                loaded.append(file)
                items += taken
                self._report(self.progress)
                if items >= self._max_items or self._nodes_change:
                    self._submit(batch)
                    if self._nodes_change and self._trust:
                        # Who has to sign the next file stands in the tables once this is written.
                        self._finish_writing()
                        self._trust.forget()
                    batch, loaded, start, items = self._new_batch(), [], replace(self.progress), 0
        except (StreamFileError, IngestError):
            # Rows of the file that failed may be among those of the batch: load the files before it alone.
            self._lookup.forget()
            self._files.forget()
            self._finish_writing()
            self.progress = start
            if loaded:
                self._load(loaded)
            raise
        self._submit(batch)
        self._finish_writing()

    def _new_batch(self) -> Batch:
        return Batch(self._lookup, self._persist, self._files)

    def _add_file(self, batch: Batch, source: StreamFile) -> int | None:
        """Add the rows of a file. Return the number of its transactions, None when it is loaded already.

        A file that lies before the last one loaded is refused. Only the next file of the chain may begin
        before the last one ends: in blocks, transactions need not be in the order of their times.
        """
        last = self.progress.last
        if last and last.reaches(source) and self._loaded.has(source, last):
            self.progress.skipped += 1
            return None
        load_start = time.time_ns() // 1_000_000
        if self._trust:
            source = source.verify(self._trust.latest_quorum, sidecars=self._rows.reads_sidecars)
        file = source.record_file()
        if last:
            if file.consensus_start <= last.consensus_end or last.reaches(source):
                if self._loaded.has_content(file, last):
                    self.progress.skipped += 1
                    return None
                if file.consensus_end <= last.consensus_end or file.previous_hash != last.hash:
                    raise left_out(file, last)
            if not self._allow_gap and not self._starts_anew(last, source):
                last.require_next(file)
            batch.shift_blocks(provisional_offset(file, last))
        index = block_number(file, last)
        items = self._rows.add(batch, source, file, index=index, load_start=load_start)
        self.progress.snapshot = self._snapshots.after(batch, file.consensus_end, self.progress.snapshot)
        batch.end_file()
        self.progress.last = Position.after(file, index)
        self.progress.files += 1
        self.progress.transactions += file.count
        self.progress.bytes += file.size
        if source.signed_by:
            self.progress.verified += 1
            self.progress.signed_by |= frozenset(source.signed_by)
        self._nodes_change = self._trust is not None and any(map(changes_nodes, items))
        return file.count

    def _starts_anew(self, last: Position, source: StreamFile) -> bool:
        return self._start is not None and last.consensus_end < self._start <= source.instant

    def _submit(self, batch: Batch) -> None:
        """Hand a batch to the writer once the one before is committed."""
        self._finish_writing()
        self._files.submitted()
        if len(batch) and self._writer:
            self._submitted = replace(self.progress)
            self._writing = self._writer.submit(_write, batch)

    def _finish_writing(self) -> None:
        if self._writing:
            writing, self._writing = self._writing, None
            writing.result()
            self.committed = self._submitted
            self._report(self.progress)


def _start() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        stored_network.remember(cursor)
        for work in start_work():
            work(cursor)


def _write(batch: Batch) -> None:
    began = time.monotonic()
    with transaction.atomic(), connection.cursor() as cursor:
        batch.write(cursor)
    log.info("event=batch rows=%d ms=%d", len(batch), (time.monotonic() - began) * 1000)


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
