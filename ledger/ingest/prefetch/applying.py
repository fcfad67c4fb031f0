"""Prefetched files, added to batches in stream order."""

from ledger import models
from ledger.ingest.lookup.entities import EntityLookup
from ledger.ingest.lookup.file_contents import Chunk, FileContents
from ledger.ingest.prefetch.deferred_lookups import DirtyKeys, LookupKey, about_file
from ledger.ingest.prefetch.reading import PrefetchedFile
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.file_rows import previous_hashes
from ledger.stream.record.record_file import RecordFile


class OrderedEntities(EntityLookup):
    """Entities at the item being read; notes what prefetched lookups may have missed."""

    def __init__(self, dirty: DirtyKeys) -> None:
        super().__init__()
        self._dirty = dirty

    def remember(self, entity: int, *, alias: bytes | None, evm_address: bytes | None) -> None:
        lookup_keys: list[LookupKey] = [name for name in (alias, evm_address) if name]
        if evm_address or entity in self._deleted:
            lookup_keys.append(entity)
        self._dirty.add(lookup_keys)
        super().remember(entity, alias=alias, evm_address=evm_address)

    def delete(self, entity: int) -> None:
        self._dirty.add((entity,))
        super().delete(entity)


class OrderedFileContents(FileContents):
    """Contents of files at the item being read; notes what prefetched lookups may have missed."""

    def __init__(self, dirty: DirtyKeys) -> None:
        super().__init__()
        self._dirty = dirty

    def add(self, file: int, chunk: Chunk) -> None:
        self._dirty.add((about_file(file),))
        super().add(file, chunk)


def add_prefetched(batch: Batch, prefetched: PrefetchedFile, file: RecordFile, *, index: int) -> None:
    """Add a file to a batch as the block `index`; `file` is the prefetched one, joined to the file before."""
    for entity, alias, evm_address, deleted in prefetched.entities:
        if deleted:
            batch.lookup.delete(entity)
            continue
        batch.lookup.remember(entity, alias=alias, evm_address=evm_address)
        if evm_address:
            batch.evm_addresses.created(entity, evm_address)
    for number, chunk in prefetched.chunks:
        batch.files.add(number, chunk)
    for recoverable, at, problem in prefetched.problems:
        batch.note(at, problem, recoverable=recoverable)
    for part in prefetched.parts:
        batch.add_part(part)
    for work in prefetched.after_file:
        batch.after_file(work)
    batch.insert(models.RecordFile, **(prefetched.block | previous_hashes(file) | {"index": index}))
