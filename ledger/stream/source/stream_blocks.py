"""Blocks: of files on disk, of a bucket or of block nodes.

A file on disk is named `<shard>/<node id>/<36 digits>.blk.gz` in the older layout,
`0000/0000/0000/0000/007.blk.zstd` in the newer one, or lies loose.
"""

import re
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Protocol, Self

from ledger.stream import block_names
from ledger.stream.block import block_file, wrapped
from ledger.stream.block.block_file import max_block_bytes, read_block_file, read_block_time
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile, SidecarFile, SidecarMetadata
from ledger.stream.signature.quorum import QuorumAt
from ledger.stream.source.bucket import Bucket, BucketError, NoSuchFile
from ledger.stream.source.stream_file import UNKNOWN_NODE, StreamFile, content_at
from mirror.core.metrics import ingest

#: The number of the first block that a source has.
EARLIEST = -1
_DIGITS_OF_NODE_LAYOUT = 36


class _Block(StreamFile):
    """A block; `file` is what was read of it."""

    number: int
    file: RecordFile | None
    published = False

    def sidecar(self, metadata: SidecarMetadata) -> SidecarFile:
        return self.record_file().sidecar_files[metadata.id]

    def verify(self, quorum_at: QuorumAt, *, sidecars: bool) -> Self:
        """Return the block with the nodes that signed it, and whether it has a threshold signature.

        A wrapped record file brings its signatures, any other block its threshold signature. A wrapped file
        may have both: then both have to hold, unless the network has not published yet who signs blocks.
        """
        if self.proved or self.signed_by:
            return self
        file, signed_by = self.record_file(), self.signed_by
        quorum = quorum_at(file.consensus_start)
        is_signed_by_nodes = file.wrapper is not None and bool(file.wrapper.signatures)
        proved = file.wrapper is None or (
            file.block_signature is not None and not (is_signed_by_nodes and quorum.ledger is None)
        )
        if proved:
            block_file.verify(file, quorum.ledger, first_block_trusted=quorum.first_block_trusted)
        if file.wrapper is not None:
            signed_by = wrapped.verify(file, file.wrapper, quorum, block_is_signed=proved)
        return replace(self, file=file, signed_by=signed_by, proved=proved)  # type: ignore[type-var]


@dataclass(frozen=True)
class LocalBlockFile(_Block):
    """A block file on disk; `name` has its digits in one piece. `file` is the block if it was read before."""

    name: str
    number: int
    path: Path
    node_id: int
    signed_by: tuple[int, ...]
    file: RecordFile | None = None
    proved: bool = False

    @property
    def instant(self) -> int:
        """The time of the block (ns), for which it has to be read."""
        return read_block_time(self.path.as_posix(), content_at(self.path))

    @property
    def stored_bytes(self) -> int:
        return 0 if self.file else stored_bytes(self.path)

    def record_file(self) -> RecordFile:
        return self.file or read_block_file(self.path.as_posix(), content_at(self.path))


@dataclass(frozen=True)
class FetchedBlock(_Block):
    """A block from `source`; `arrived` is when its last item came from a block node (monotonic seconds)."""

    name: str
    number: int
    file: RecordFile
    source: str
    arrived: float = 0.0
    signed_by: tuple[int, ...] = ()
    proved: bool = False

    node_id = UNKNOWN_NODE

    @property
    def instant(self) -> int:
        return self.file.consensus_start

    def record_file(self) -> RecordFile:
        return self.file


class BlockSource(Protocol):
    """Where blocks come from: block nodes, a bucket, or both."""

    @property
    def location(self) -> str:
        """Where blocks come from, for messages."""
        ...

    def next(self, number: int, seconds: float) -> FetchedBlock | None:
        """Return a block, None if it is late; EARLIEST is the first there is. Errors: StreamFileError."""
        ...

    def reject(self, reason: str = "") -> None:
        """Note that the last block was rejected."""
        ...

    def status(self) -> dict[str, Any]:
        """Return what operators see: `LoaderState.block_source`. Thread-safe."""
        ...

    def close(self) -> None: ...


def stored_bytes(path: Path) -> int:
    """Return the size of a file; 0 if there is none."""
    try:
        return path.stat().st_size
    except OSError:
        return 0


def local_block(path: Path) -> LocalBlockFile:
    """Return the block file at a path. Errors: StreamFileError when its name is not one of a block."""
    parsed = block_names.parse(path.as_posix())
    return LocalBlockFile(parsed.name, parsed.number, path, _node_id(path), ())


def blocks_below(folder: Path) -> list[LocalBlockFile]:
    blocks = []
    for path in sorted(folder.rglob(f"*{block_names.EXTENSION}*")):
        try:
            if path.is_file():
                blocks.append(local_block(path))
        except StreamFileError:
            continue
    return blocks


def _node_id(path: Path) -> int:
    folder = path.parent
    digits = path.name.partition(".")[0]
    if len(digits) == _DIGITS_OF_NODE_LAYOUT and folder.name.isdecimal() and folder.parent.name.isdecimal():
        return int(folder.name)
    return UNKNOWN_NODE


# So many transactions are read ahead, if the blocks to come are like the last one: each takes 4 KB.
_MAX_TRANSACTIONS = 50_000


def latest_folder(bucket: Bucket, network: str) -> str:
    """Return the latest folder with the name of a network and a date behind it. Errors: BucketError."""
    pattern = re.compile(f"{re.escape(network)}(-.+)?")
    folders = [name for name in bucket.folders() if pattern.fullmatch(name)]
    if not folders:
        raise BucketError(bucket.location, f"there is no folder of the network {network}")
    return max(folders)


class BlockBucket:
    """Fetches the blocks of a network one after another, some of them ahead. Close it when done."""

    def __init__(self, bucket: Bucket, network: str, *, max_prefetch: int) -> None:
        self.location = bucket.location
        self._bucket = bucket
        self._network = network
        self._max_prefetch = max_prefetch
        self._pool = ThreadPoolExecutor(max_prefetch, thread_name_prefix="block")
        self._requests: deque[tuple[int, Future[RecordFile]]] = deque()
        self._folder: str | None = None
        # As many are fetched at once; more and more while there are some, for the next may not be there yet.
        self._depth = 1

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def reject(self, reason: str = "") -> None:
        pass

    def status(self) -> dict[str, Any]:
        return {"now": self.location, "why": "", "nodes": []}

    def next(self, number: int, seconds: float = 0.0) -> FetchedBlock | None:
        """Return a block, None if it is not there yet. Errors: StreamFileError."""
        if number == EARLIEST:
            raise StreamFileError(
                self.location,
                0,
                "a bucket does not tell its earliest block",
                "Name the number to begin with by importer.startBlockNumber, or a block node.",
            )
        if self._requests and self._requests[0][0] != number:
            self._cancel()
        next_number = self._requests[-1][0] + 1 if self._requests else number
        while len(self._requests) < self._depth:
            self._requests.append((next_number, self._pool.submit(self._read, next_number)))
            next_number += 1
        _, future = self._requests.popleft()
        try:
            file = future.result()
        except NoSuchFile:
            self._cancel()
            # The network may have begun anew.
            self._folder = None
            return None
        except Exception:
            self._cancel()
            raise
        self._depth = min(self._depth * 2, self._max_prefetch, 1 + _MAX_TRANSACTIONS // max(1, file.count))
        return FetchedBlock(file.name, number, file, self.location)

    def _cancel(self) -> None:
        for _, future in self._requests:
            future.cancel()
        self._requests.clear()
        self._depth = 1

    def _read(self, number: int) -> RecordFile:
        if self._folder is None:
            self._folder = latest_folder(self._bucket, self._network)
        path = f"{self._folder}/{block_names.in_bucket(number)}"
        with ingest.stage("download"):
            data = self._bucket.read(path, max_bytes=max_block_bytes())
        with ingest.stage("read"):
            return read_block_file(path, data)
