"""Files that were read ahead, taken in their turn."""

from ledger import models
from ledger.ingest.lookup.entities import EntityLookup
from ledger.ingest.lookup.file_contents import Chunk, FileContents
from ledger.ingest.prefetch.deferred_lookups import DirtyKeys, Question, about_file
from ledger.ingest.prefetch.reading import ReadFile
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.file_rows import previous_hashes
from ledger.stream.record.record_file import RecordFile


class OrderedEntities(EntityLookup):
    """Entities at the item being read; notes what readers that are ahead may not know."""

    def __init__(self, touched: DirtyKeys) -> None:
        super().__init__()
        self._touched = touched

    def remember(self, entity: int, *, alias: bytes | None, evm_address: bytes | None) -> None:
        questions: list[Question] = [name for name in (alias, evm_address) if name]
        if evm_address or entity in self._deleted:
            questions.append(entity)
        self._touched.add(questions)
        super().remember(entity, alias=alias, evm_address=evm_address)

    def delete(self, entity: int) -> None:
        self._touched.add((entity,))
        super().delete(entity)


class OrderedFileContents(FileContents):
    """Contents of files at the item being read; notes what readers that are ahead may not know."""

    def __init__(self, touched: DirtyKeys) -> None:
        super().__init__()
        self._touched = touched

    def add(self, file: int, chunk: Chunk) -> None:
        self._touched.add((about_file(file),))
        super().add(file, chunk)


def take(batch: Batch, read: ReadFile, file: RecordFile, *, index: int) -> None:
    """Add a file to a batch as the block `index`; `file` is what was read, joined to the file before."""
    for entity, alias, evm_address, deleted in read.entities:
        if deleted:
            batch.lookup.delete(entity)
            continue
        batch.lookup.remember(entity, alias=alias, evm_address=evm_address)
        if evm_address:
            batch.evm_addresses.created(entity, evm_address)
    for number, chunk in read.chunks:
        batch.files.add(number, chunk)
    for recoverable, at, problem in read.problems:
        batch.note(at, problem, recoverable=recoverable)
    for part in read.parts:
        batch.add_part(part)
    for work in read.after_file:
        batch.after_file(work)
    batch.insert(models.RecordFile, **(read.block | previous_hashes(file) | {"index": index}))
