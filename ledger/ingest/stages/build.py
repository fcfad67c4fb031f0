"""Third stage: the rows of files, gathered in batches of whole files."""

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from ledger import models
from ledger.archive.originals import ArchiveSelection
from ledger.ingest import IngestError
from ledger.ingest.balances.snapshots import Snapshots
from ledger.ingest.coverage import Coverage, Range
from ledger.ingest.hash_chain import Position
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.deferred_lookups import DirtyKeys, OrderedEntities, OrderedFileContents
from ledger.ingest.rows.file_rows import FileRows, previous_hashes
from ledger.ingest.rows.lookups import EntityLookup, FileContents
from ledger.ingest.rows.persist import Persist
from ledger.ingest.stages.options import LoadOptions, Progress
from ledger.ingest.stages.prefetching import PrefetchedFile
from ledger.ingest.stages.verify import NextFile
from ledger.ingest.trusted_nodes import changes_nodes
from ledger.stream.record_file import RecordFile
from ledger.stream.source.stream_file import StreamFile
from mirror.core import logs
from mirror.core.metrics import ingest

if TYPE_CHECKING:
    from ledger.archive.archiver import ArchiveBatch, Archiver

log = logs.logger(__name__)


class LoadedFile(NamedTuple):
    """What the log says of a file once it is committed; `ms` is the time that its rows took to make."""

    name: str
    block: int
    items: int
    rows: int
    ms: int
    consensus_end: int


@dataclass
class FileBatch:
    """Files that are committed together; `progress_before` is the progress of the run before them."""

    progress_before: Progress
    rows: Batch
    # The files to archive.
    archive: "ArchiveBatch | None"
    sources: list[StreamFile] = field(default_factory=list)
    transactions: int = 0
    # The ranges that the files lie in, by their start.
    ranges: dict[int, Range] = field(default_factory=dict)
    loaded: list[LoadedFile] = field(default_factory=list)
    # Whether the last file changes the nodes or their stakes, if signatures are verified.
    changes_nodes: bool = False

    def shift_blocks(self, offset: int) -> None:
        self.rows.shift_blocks(offset)
        self.ranges = {start: each.shifted(offset) for start, each in self.ranges.items()}


class BuildStage:
    """Adds files to batches."""

    def __init__(self, options: LoadOptions, dirty: DirtyKeys) -> None:
        prefetch, self._watch_nodes = options.readers is not None, options.quorums is not None
        self._balances, self._require_archive = options.balances, options.require_archive
        self._lookup = OrderedEntities(dirty) if prefetch else EntityLookup()
        self._files = OrderedFileContents(dirty) if prefetch else FileContents()
        self._persist = Persist()
        self._rows = FileRows(self._balances.last + 1) if self._balances else FileRows()
        self._snapshots = Snapshots()
        self._coverage = Coverage()
        self._archive = ArchiveSelection.from_settings()
        self._archiver: Archiver | None = None

    @property
    def reads_sidecars(self) -> bool:
        return self._rows.reads_sidecars or self._archive.records

    @contextmanager
    def archiving(self) -> Iterator[None]:
        """Archive the files that are added meanwhile, as the settings say. Errors: OperatorError."""
        if not self._archive.is_enabled:
            yield
            return
        # The library of buckets takes 5 MB, which a node without an archive has no use for.
        from ledger.archive.archiver import Archiver
        from ledger.archive.store import open_archive

        self._archiver = Archiver(self._archive, open_archive(), required=self._require_archive)
        try:
            yield
        finally:
            self._archiver.close()

    def last_snapshot(self, last: Position | None) -> int | None:
        """Return the time of the last balance snapshot, or what stands for it (ns)."""
        snapshot = self._snapshots.last_stored()
        return self._balances.file.consensus_timestamp if self._balances and not last else snapshot

    def clear(self) -> None:
        self._lookup.clear()
        self._files.clear()

    def submitted(self) -> None:
        self._files.submitted()

    def begin(self, progress: Progress) -> FileBatch:
        rows = Batch(self._lookup, self._persist, self._files)
        if self._balances and not progress.last:
            rows.begin_with(self._balances.write)
        return FileBatch(progress, rows, self._archiver.new_batch() if self._archiver else None)

    def add(self, batch: FileBatch, added: NextFile, progress: Progress) -> None:
        """Add a file, and what it adds to the progress. Errors: StreamFileError, IngestError."""
        # Counting the rows takes a while, and only the log uses it.
        rows_before = len(batch.rows) if log.isEnabledFor(logging.INFO) else None
        self._chain(batch, added, progress)
        self._add_rows(batch, added)
        self._extend_range(batch, added, progress)
        if batch.archive:
            prefetched = added.prefetched
            batch.archive.add(
                added.file,
                prefetched.originals if prefetched else self._archive.originals(added.source, added.file),
            )
        if rows_before is not None:
            rows, ms = len(batch.rows) - rows_before, time.time_ns() // 1_000_000 - added.load_start
            batch.loaded.append(
                LoadedFile(
                    added.source.name, added.chained.index, added.count, rows, ms, added.file.consensus_end
                )
            )
        batch.transactions += added.count
        _count(added, progress)

    def _chain(self, batch: FileBatch, added: NextFile, progress: Progress) -> None:
        """Note a break between wrapped blocks, and correct counted numbers. Errors: IngestError."""
        if problem := added.chained.wrapper_problem:
            if self._persist.halt_on_error:
                raise IngestError(
                    added.file.name,
                    "footer",
                    problem,
                    "Turn importer.parser.haltOnError off to load it all the same: the record files are in "
                    "order.",
                    kind=ingest.CHAIN,
                )
            batch.rows.note(added.file.consensus_end, problem, recoverable=True)
        if offset := added.chained.block_offset:
            batch.shift_blocks(offset)
            progress.covered = progress.covered and progress.covered.shifted(offset)

    def _add_rows(self, batch: FileBatch, added: NextFile) -> None:
        file, index = added.file, added.chained.index
        if added.prefetched:
            _add_prefetched(batch.rows, added.prefetched, file, index=index)
            batch.changes_nodes = self._watch_nodes and added.prefetched.changes_nodes
            return
        with ingest.stage("rows"):
            items = self._rows.add(batch.rows, added.source, file, index=index, load_start=added.load_start)
        batch.changes_nodes = self._watch_nodes and any(map(changes_nodes, items))

    def _extend_range(self, batch: FileBatch, added: NextFile, progress: Progress) -> None:
        """End the file: take the balance snapshot that is due, and note the range that it lies in."""
        progress.snapshot = self._snapshots.advance(batch.rows, added.file.consensus_end, progress.snapshot)
        batch.rows.end_file()
        covered = self._coverage.range_after(
            progress.covered,
            added.chained,
            added.count,
            signed=bool(added.signed_by) or added.proved,
            balances=self._balances,
        )
        progress.covered = batch.ranges[covered.consensus_start] = covered
        progress.last = Position.from_file(added.file, added.chained.index)


def _count(added: NextFile, progress: Progress) -> None:
    progress.files += 1
    progress.prefetched += added.prefetched is not None
    progress.transactions += added.count
    progress.bytes += added.file.size
    if added.signed_by or added.proved:
        progress.verified += 1
        progress.proved += not added.signed_by
        progress.signed_by |= frozenset(added.signed_by)


def _add_prefetched(batch: Batch, prefetched: PrefetchedFile, file: RecordFile, *, index: int) -> None:
    """Add a file to a batch as the block `index`; `file` is the prefetched one, joined to the file before."""
    for entity, alias, evm_address, deleted in prefetched.entities:
        if deleted:
            batch.lookup.delete(entity)
            continue
        batch.lookup.cache(entity, alias=alias, evm_address=evm_address)
        if evm_address:
            batch.evm_addresses.created(entity, evm_address)
    for number, chunk in prefetched.chunks:
        batch.files.add(number, chunk)
    for recoverable, timestamp, problem in prefetched.problems:
        batch.note(timestamp, problem, recoverable=recoverable)
    for part in prefetched.parts:
        batch.add_part(part)
    for work in prefetched.after_file:
        batch.after_file(work)
    batch.insert(models.RecordFile, **(prefetched.block | previous_hashes(file) | {"index": index}))
