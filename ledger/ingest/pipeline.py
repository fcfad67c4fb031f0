"""The pipeline from stream files to tables: read, verify, build, write (`ledger.ingest.stages`).

One thread reads files and builds rows while another writes the batch before. The tables always hold a prefix
of the stream that ends with a whole file; loading continues after the last `record_file` row. Commits wait
for the disk: a crash loses no block that a client has seen.
"""

import gc
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import closing, contextmanager
from dataclasses import replace

from ledger.ingest import IngestError
from ledger.ingest.coverage import Range
from ledger.ingest.hash_chain import Position
from ledger.ingest.loader_lock import loader_lock, require_lock
from ledger.ingest.rows.deferred_lookups import DirtyKeys
from ledger.ingest.stages.build import BuildStage, FileBatch
from ledger.ingest.stages.options import LoadOptions, Progress
from ledger.ingest.stages.read import ReadStage
from ledger.ingest.stages.verify import VerifyStage
from ledger.ingest.stages.write import Writer
from ledger.stream.errors import StreamFileError
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config
from mirror.core.metrics import ingest

__all__ = ["LoadOptions", "Pipeline", "Progress"]

# The first batch has only so many transactions, and each later one at most twice as many: the writer, which
# takes longest, has something to do as soon as possible.
_FIRST_ITEMS = 2_500


class Pipeline:
    """Loads the stream files that follow what is stored.

    `report` is called after each file and each commit with `committed`, the part of `progress` that is stored
    for certain, however the run ends. `progress` is that of an earlier run, to be added to.
    """

    def __init__(
        self,
        options: LoadOptions | None = None,
        *,
        report: Callable[[Progress], None] | None = None,
        progress: Progress | None = None,
        stopping: threading.Event | None = None,
    ) -> None:
        self.progress = progress or Progress()
        self.committed = self._submitted = replace(self.progress)
        options = options or LoadOptions()
        self._quorums = options.quorums
        self._report = report or (lambda progress: None)
        self._stopping = stopping or threading.Event()
        self._max_items: int = config.value("importer.parser.record.batch.maxItems")
        self._dirty = DirtyKeys()
        self._read = ReadStage(options, self._dirty)
        self._build = BuildStage(options, self._dirty)
        self._verify = VerifyStage(options, sidecars=self._build.reads_sidecars)

    def stop(self) -> None:
        """Finish after the batch at hand; safe to call from a signal handler."""
        self._stopping.set()

    def run(self, files: Iterable[StreamFile | None]) -> Progress:
        """Load those of `files` (in consensus order) that are not loaded yet; None says that none follows for
        now.

        Errors: StreamFileError for a file that is damaged, IngestError for one that does not follow. The
        files before it are loaded, nothing of it is.
        """
        with loader_lock(), _fewer_collections(), closing(Writer()) as writer:
            self.progress.last = Position.stored()
            self.progress.snapshot = self._build.last_snapshot(self.progress.last)
            self.progress.covered = Range.ending_at(self.progress.last)
            self.committed = self._submitted = replace(self.progress)
            with self._build.archiving():
                self._load(writer, files)
        return self.progress

    def _load(self, writer: Writer, files: Iterable[StreamFile | None], *, prefetch: bool = True) -> None:
        batch, most_items = self._new_batch(), min(_FIRST_ITEMS, self._max_items)
        arrivals = self._read.arrivals(files, self.progress, prefetch=prefetch)
        try:
            for arrival in arrivals:
                if self._stopping.is_set():
                    break
                if arrival.source is None:
                    # Make the files so far visible, and raise the error if they can't be written.
                    self._submit(writer, batch)
                    batch = self._new_batch()
                    continue
                file = self._verify.next(arrival.source, self._read.usable(arrival), self.progress)
                if file is None:
                    continue
                self._build.add(batch, file, self.progress)
                batch.sources.append(arrival.source)
                self._report_committed()
                if batch.transactions >= most_items or batch.changes_nodes:
                    self._submit(writer, batch)
                    most_items = min(most_items * 2, self._max_items)
                    if batch.changes_nodes and self._quorums:
                        # The signers of the next file stand in the tables once this is written.
                        self._finish_writing(writer)
                        self._quorums.clear()
                    batch = self._new_batch()
        except (StreamFileError, IngestError) as error:
            ingest.REFUSED.labels(error.kind).inc()
            # Rows of the file that failed may be among those of the batch: load the files before it alone.
            self._build.clear()
            self._finish_writing(writer)
            self.progress = batch.progress_before
            if batch.sources:
                self._load(writer, batch.sources, prefetch=False)
            raise
        finally:
            arrivals.close()
        self._submit(writer, batch)
        self._finish_writing(writer)

    def _new_batch(self) -> FileBatch:
        return self._build.begin(replace(self.progress))

    def _submit(self, writer: Writer, batch: FileBatch) -> None:
        """Hand a batch to the writer once the one before is committed."""
        self._finish_writing(writer)
        self._build.submitted()
        self._dirty.submit()
        if batch.sources:
            require_lock()
            self._submitted = replace(self.progress)
            writer.submit(batch)

    def _report_committed(self) -> None:
        # Files that are skipped are stored.
        self._report(replace(self.committed, skipped=self.progress.skipped))

    def _finish_writing(self, writer: Writer) -> None:
        if writer.finish():
            self._dirty.commit()
            ingest.FILES.inc(self._submitted.files - self.committed.files)
            ingest.TRANSACTIONS.inc(self._submitted.transactions - self.committed.transactions)
            self.committed = self._submitted
            self._report_committed()


@contextmanager
def _fewer_collections() -> Iterator[None]:
    """Collect garbage less often: batches have hardly a cycle, and looking takes a fifth of the time."""
    thresholds = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(200_000, 50, 100)
    try:
        yield
    finally:
        gc.set_threshold(*thresholds)
        gc.unfreeze()
