"""What loading files would bring: files, bytes and expected rows, from a sample. No database is asked."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeVar

from ledger.ingest.batch import Batch, Persist
from ledger.ingest.contents import FileContents
from ledger.ingest.file_rows import FileRows
from ledger.ingest.lookup import EntityLookup
from ledger.stream.verified import StreamFile

SAMPLED = 50

AnyFile = TypeVar("AnyFile")


class FileOnDisk(StreamFile, Protocol):
    @property
    def path(self) -> Path: ...


@dataclass(frozen=True)
class Estimate:
    """`bytes` are those of all data files as stored, without sidecars; `rows` by table, without those that
    change stored ones (entities, tokens and their like).
    """

    files: int
    bytes: int
    sampled: int
    transactions: int
    rows: Mapping[str, int]


class _NothingStored(EntityLookup):
    def _stored(self, column: str, value: bytes) -> int:
        return 0


class _NoFiles(FileContents):
    def decoded(self, file: int, at: int) -> bytes | None:
        return None


def estimate(files: Sequence[FileOnDisk]) -> Estimate:
    """Rows of the sample, by byte, times the bytes of all. Errors: StreamFileError, IngestError."""
    counted, transactions, sampled_bytes = Counter[str](), 0, 0
    sample = evenly(files, SAMPLED)
    rows_of, persist = FileRows(), Persist()
    for source in sample:
        file = source.record_file()
        batch = Batch(_NothingStored(), persist, _NoFiles())
        transactions += len(rows_of.add(batch, source, file, index=0, load_start=0))
        counted += batch.counts()
        sampled_bytes += source.path.stat().st_size
    total = sum(source.path.stat().st_size for source in files)
    scale = total / sampled_bytes if sampled_bytes else 0
    return Estimate(
        files=len(files),
        bytes=total,
        sampled=len(sample),
        transactions=round(transactions * scale),
        rows={table: round(count * scale) for table, count in counted.most_common()},
    )


def evenly(files: Sequence[AnyFile], count: int) -> list[AnyFile]:
    """`count` of the files, or all, at even distances, the first and the last among them."""
    if len(files) <= count:
        return list(files)
    return [files[round(step * (len(files) - 1) / (count - 1))] for step in range(count)]
