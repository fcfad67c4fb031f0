"""A prefetched file: verified, parsed and turned into rows, in a reader process.

What depends on the files before it is left to the loader: the hash chain, the changes of objects, and whether
the lookups that it relied on are still right.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from django.db import connection
from django.db.backends.utils import CursorWrapper

from ledger.archive.originals import ArchiveSelection, Original
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.deferred_lookups import (
    MAX_CACHED_ENTITIES,
    LookupKey,
    PrefetchedEntities,
    PrefetchedEvmAddresses,
    PrefetchedFileContents,
)
from ledger.ingest.rows.file_rows import FileRows
from ledger.ingest.rows.lookups import Chunk
from ledger.ingest.rows.persist import Persist
from ledger.ingest.trusted_nodes import changes_nodes
from ledger.stream.record_file import RecordFile
from ledger.stream.signature.quorum import Quorum
from ledger.stream.source.stream_file import StreamFile
from mirror.core import logs
from mirror.core.db.writing.recorded import RecordedRows
from mirror.core.db.writing.rows import FilePart
from mirror.core.metrics import ingest

log = logs.logger(__name__)


@dataclass(frozen=True, slots=True)
class PrefetchRequest:
    """What a file is read by: the number of batches that are stored, and the quorum that has to sign it."""

    committed: int
    quorum: Quorum | None


@dataclass(frozen=True, slots=True)
class PrefetchedFile:
    """All that a batch needs of a file. `file` is without its transactions, `block` its row."""

    file: RecordFile
    count: int
    signed_by: tuple[int, ...]
    # Whether it has a threshold signature, which names no nodes.
    proved: bool
    changes_nodes: bool
    parts: list[FilePart]
    after_file: list[Callable[[CursorWrapper], None]]
    block: dict[str, Any]
    # Changes of entities and files that later lookups need.
    entities: list[tuple[int, bytes | None, bytes | None, bool]]
    chunks: list[tuple[int, Chunk]]
    # Problems of items: whether it is recoverable (or a mere anomaly), when, and what.
    problems: list[tuple[bool, int, str]]
    lookup_keys: set[LookupKey]
    originals: tuple[Original, ...] = ()


class _Batch(RecordedRows, Batch):
    """The rows of one file."""

    def __init__(self, lookup: PrefetchedEntities, persist: Persist, files: PrefetchedFileContents) -> None:
        super().__init__(lookup, persist, files)
        self.block: dict[str, Any] = {}
        self.problems: list[tuple[bool, int, str]] = []

    @property
    def work_after_file(self) -> list[Callable[[CursorWrapper], None]]:
        return self._after_file

    def add_block(self, **columns: Any) -> None:
        self.block = columns
        self._complete_later(columns)

    def note(self, timestamp: int, problem: str, *, recoverable: bool) -> None:
        self.problems.append((recoverable, timestamp, problem))


class Reader:
    """Prefetches files."""

    def __init__(self) -> None:
        self._rows, self._persist, self._archive = FileRows(), Persist(), ArchiveSelection.from_settings()
        self._lookup, self._files = PrefetchedEntities(), PrefetchedFileContents()
        self._addresses: dict[int, bytes] = {}
        self._without_address: set[int] = set()
        self._committed = -1

    def read(self, source: StreamFile, request: PrefetchRequest) -> PrefetchedFile | None:
        """Return the file; None where it can't be prefetched: the loader then reads it and finds out why."""
        try:
            return self._read(source, request)
        except Exception as error:
            log.info("file_not_prefetched", file=source.name, reason=str(error))
            # The connection may be what failed; the next file gets another.
            connection.close()
            return None

    def _read(self, source: StreamFile, request: PrefetchRequest) -> PrefetchedFile:
        load_start = time.time_ns() // 1_000_000
        self._begin_file(request.committed)
        quorum = request.quorum
        if quorum is not None:
            with ingest.stage("verify"):
                source = source.verify(
                    lambda at: quorum, sidecars=self._rows.reads_sidecars or self._archive.records
                )
        with ingest.stage("read"):
            file = source.record_file()
        batch = _Batch(self._lookup, self._persist, self._files)
        lookup_keys = self._lookup.lookup_keys
        batch.evm_addresses = PrefetchedEvmAddresses(self._addresses, self._without_address, lookup_keys)
        with ingest.stage("rows"):
            items = self._rows.add(batch, source, file, index=0, load_start=load_start)
            with connection.cursor() as cursor:
                batch.complete(cursor)
        return PrefetchedFile(
            file=replace(file, items=(), sidecar_files={}, genesis=None, original=None),
            count=file.count,
            signed_by=source.signed_by,
            proved=source.proved,
            changes_nodes=any(map(changes_nodes, items)),
            parts=batch.parts(),
            after_file=batch.work_after_file,
            block=batch.block,
            entities=self._lookup.changes,
            chunks=self._files.chunks,
            problems=batch.problems,
            lookup_keys=lookup_keys,
            originals=self._archive.originals(source, file),
        )

    def _begin_file(self, committed: int) -> None:
        has_committed = committed != self._committed
        self._committed = committed
        if has_committed:
            self._without_address.clear()
        if len(self._addresses) > MAX_CACHED_ENTITIES:
            self._addresses.clear()
        self._lookup.begin_file(clear_cache=has_committed)
        self._files.begin_file(self._lookup.lookup_keys)
