"""Blocks in a bucket: one file for each, found by its number below the network's latest folder."""

import re
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from ledger.stream import block_names
from ledger.stream.block.block_file import max_block_bytes, read_block_file
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile
from ledger.stream.source.blocks import EARLIEST, FetchedBlock
from ledger.stream.source.bucket import Bucket, BucketError, NoSuchFile
from mirror.core.metrics import ingest

# So many transactions are read ahead, if the blocks to come are like the last one: each takes 4 KB.
_MAX_TRANSACTIONS = 50_000


def latest_folder(bucket: Bucket, network: str) -> str:
    """Return the folder of a network: of those with its name and a date behind it the latest.

    Errors: BucketError, also if there is none.
    """
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
