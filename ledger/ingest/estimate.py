"""Estimates of what loading files would bring and take, from a sample, without a database."""

import math
import time
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.file_rows import FileRows
from ledger.ingest.rows.lookups import EntityLookup, FileContents
from ledger.ingest.rows.persist import Persist
from ledger.stream import record_names
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile, SidecarFile, SidecarMetadata, read_sidecar_file
from ledger.stream.record_formats import read_record_file
from ledger.stream.signature.address_book import AddressBookNode
from ledger.stream.signature.quorum import QuorumAt
from ledger.stream.source.bucket import PAGE, Bucket
from ledger.stream.source.download import Layout
from ledger.stream.source.local import FileOnDisk
from ledger.stream.source.stream_file import UNKNOWN_NODE, StreamFile

SAMPLED = 50
# A bucket is sampled at so many times, with the files of so many nodes each.
PLACES, _NODES_SAMPLED = 40, 3

AnyFile = TypeVar("AnyFile")


# Loading takes so many times as long as reading files and making their rows takes a processor: it verifies
# signatures, looks up entities and writes, in part at the same time. Measured on two idle processors, with
# 100,000 transactions of all types in 14.4 s.
LOADING = 2.0


@dataclass(frozen=True)
class Fetched:
    """What is fetched from a bucket besides the record files. `latency`: the seconds that a request takes."""

    sidecars: int
    sidecar_bytes: int
    signatures: int
    signature_bytes: int
    listings: int
    latency: float = field(default=0.0, compare=False)


@dataclass(frozen=True)
class Estimate:
    """The expected load. `bytes` are of all files as stored, without sidecars.

    `rows` are by table; tables whose rows are changed (entities, tokens and the like) are left out.
    `seconds` is the time of loading by one process of this machine.
    """

    files: int
    bytes: int
    sampled: int
    transactions: int
    rows: Mapping[str, int]
    seconds: float = field(default=0.0, compare=False)
    fetched: Fetched | None = None


class _NothingStored(EntityLookup):
    def _stored(self, column: str, value: bytes) -> int:
        return 0


class _NoFiles(FileContents):
    def decoded(self, file: int, timestamp: int) -> bytes | None:
        return None


class _Sample:
    """The rows of some files, counted."""

    def __init__(self) -> None:
        self.files = self.bytes = self.transactions = 0
        self.rows = Counter[str]()
        # Of each file, the processor time and the number of its transactions.
        self._times: list[tuple[float, int]] = []
        self._rows_of, self._persist = FileRows(), Persist()
        self._persist.publishes_topics = False

    def add(self, source: StreamFile, size: int) -> None:
        batch = Batch(_NothingStored(), self._persist, _NoFiles())
        began = time.process_time()
        count = len(self._rows_of.add(batch, source, source.record_file(), index=0, load_start=0))
        self._times.append((time.process_time() - began, count))
        self.transactions += count
        self.rows += batch.counts()
        self.files += 1
        self.bytes += size

    def scaled(self, files: int, size: int, factor: float, fetched: Fetched | None = None) -> Estimate:
        return Estimate(
            files=files,
            bytes=size,
            sampled=self.files,
            transactions=round(self.transactions * factor),
            rows={table: round(count * factor) for table, count in self.rows.most_common()},
            seconds=self._seconds(self.transactions * factor),
            fetched=fetched,
        )

    def _seconds(self, transactions: float) -> float:
        """Return how long loading takes. The first file takes longer than others of its kind."""
        times = self._times[1:] or self._times
        sampled = sum(count for _, count in times)
        return sum(spent for spent, _ in times) / sampled * transactions * LOADING if sampled else 0.0


def estimate(files: Sequence[FileOnDisk]) -> Estimate:
    """Estimate the rows by the bytes of all files. Errors: StreamFileError, IngestError."""
    sample = _Sample()
    for source in evenly(files, SAMPLED):
        sample.add(source, source.path.stat().st_size)
    total = sum(source.path.stat().st_size for source in files)
    return sample.scaled(len(files), total, total / sample.bytes if sample.bytes else 0)


def estimate_bucket(
    bucket: Bucket, layout: Layout, nodes: Sequence[AddressBookNode], start: int, until: int
) -> Estimate:
    """Estimate what is published between two times (ns), from places between. Errors: StreamFileError."""
    folders = [
        folder
        for node in nodes[:_NODES_SAMPLED]
        for folder in (layout.account_folder(node.account_id), layout.node_folder(node.node_id))
    ]
    sample, files, fetching = _Sample(), 0.0, _Fetching()
    length = (until - start) / PLACES
    for place in range(PLACES):
        begin, end = start + round(place * length), start + round((place + 1) * length)
        folder, listed, complete = _listed(bucket, folders, begin)
        instants = [record_names.parse(name).instant for name in listed]
        here = sum(instant < end for instant in instants)
        if not here:
            continue
        if complete or here < len(listed):
            files += here
        else:
            files += (here - 1) * (end - instants[0]) / (instants[-1] - instants[0])
        fetching.read(bucket, f"{folder}/{listed[0]}")
        source = _read(bucket, folder, listed[0], fetching)
        sample.add(source, len(source.data))
    factor = files / sample.files if sample.files else 0
    fetched = fetching.scaled(round(files), len(nodes), factor)
    return sample.scaled(round(files), round(sample.bytes * factor), factor, fetched)


class _Fetching:
    """Signatures and sidecars of the sample, and the time that all requests have taken."""

    def __init__(self) -> None:
        self.sidecars = self.sidecar_bytes = 0
        self._signatures = self._signature_bytes = 0
        self._requests, self._seconds = 0, 0.0

    def read(self, bucket: Bucket, path: str) -> bytes:
        began = time.monotonic()
        data = bucket.read(path)
        self._seconds += time.monotonic() - began
        self._requests += 1
        if path.endswith("_sig"):
            self._signatures += 1
            self._signature_bytes += len(data)
        return data

    def scaled(self, files: int, nodes: int, factor: float) -> Fetched:
        """Return what all files take: each node's signatures, and listings with record files, too."""
        signatures = files * nodes
        size = self._signature_bytes / self._signatures if self._signatures else 0
        return Fetched(
            sidecars=round(self.sidecars * factor),
            sidecar_bytes=round(self.sidecar_bytes * factor),
            signatures=signatures,
            signature_bytes=round(size * signatures),
            listings=nodes * math.ceil(2 * files / PAGE),
            latency=self._seconds / self._requests if self._requests else 0.0,
        )


def _listed(bucket: Bucket, folders: Iterable[str], begin: int) -> tuple[str, list[str], bool]:
    """Return the first folder with signature files from a time on, their names, and whether these are all."""
    after = record_names.parse(record_names.record_name(begin - 1)).after
    for folder in folders:
        page = bucket.names(folder, after)
        listed = [name for name in page if name.endswith("_sig")]
        if listed:
            return folder, listed, len(page) < PAGE
    return "", [], True


def _read(bucket: Bucket, folder: str, signature_name: str, fetching: _Fetching) -> "_Published":
    """Read the record file of a signature, compressed or not, which its name does not show."""
    plain = signature_name.removesuffix("_sig")
    try:
        data = fetching.read(bucket, f"{folder}/{plain}.gz")
        return _Published(bucket, folder, f"{plain}.gz", data, fetching)
    except StreamFileError:
        return _Published(bucket, folder, plain, fetching.read(bucket, f"{folder}/{plain}"), fetching)


@dataclass(frozen=True)
class _Published(StreamFile):
    """A record file in a bucket, whose signatures are not looked at."""

    bucket: Bucket
    folder: str
    name: str
    data: bytes
    fetching: _Fetching

    node_id = UNKNOWN_NODE
    number = None
    published = True
    signed_by = ()

    def record_file(self) -> RecordFile:
        return read_record_file(self.name, self.data)

    def sidecar(self, metadata: SidecarMetadata) -> SidecarFile:
        data = self.fetching.read(self.bucket, f"{self.folder}/{record_names.SIDECAR_FOLDER}/{metadata.name}")
        self.fetching.sidecars += 1
        self.fetching.sidecar_bytes += len(data)
        return read_sidecar_file(metadata.name, data, metadata.hash)

    def verify(self, quorum_at: QuorumAt, *, sidecars: bool) -> StreamFile:
        return self


def evenly(files: Sequence[AnyFile], count: int) -> list[AnyFile]:
    """Return `count` of the files, or all, at even distances, the first and the last among them."""
    if len(files) <= count:
        return list(files)
    return [files[round(step * (len(files) - 1) / (count - 1))] for step in range(count)]
