"""Record files of the past, by name, in nodes' folders.

`accounts` are the encoded accounts of nodes by node id, as in `Quorum.accounts`. Files are not verified here:
callers compare their hashes with those in the tables.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from ledger.stream import record_names
from ledger.stream.errors import StreamFileError
from ledger.stream.source.bucket import Bucket, BucketError, NoSuchFile
from ledger.stream.source.download import Layout

_CONCURRENCY = 16
Content = TypeVar("Content")


class FileNotPublished(StreamFileError):
    """No node has the file in a bucket, or not any more."""


@dataclass(frozen=True)
class NodeFolders:
    """A bucket with record files in a folder of each node. `concurrency` nodes are requested in parallel."""

    bucket: Bucket
    layout: Layout
    concurrency: int = 1

    def read(self, node_id: int, account_id: int, name: str, *, max_bytes: int | None = None) -> bytes:
        """Return a file from the first folder of a node that has it. Errors: BucketError."""
        *others, last = self.layout.folders(node_id, account_id)
        for folder in others:
            try:
                return self.bucket.read(f"{folder}/{name}", max_bytes=max_bytes)
            except NoSuchFile:
                continue
        return self.bucket.read(f"{last}/{name}", max_bytes=max_bytes)

    def first(self, path: str, accounts: Mapping[int, int], read: Callable[[bytes], Content]) -> Content:
        """Return `read` of the first copy that it accepts. Errors: FileNotPublished, StreamFileError."""
        problem: StreamFileError | None = None
        for node_id, account in accounts.items():
            try:
                return read(self.read(node_id, account, path))
            except NoSuchFile:
                continue
            except StreamFileError as error:
                problem = error
        if problem:
            raise problem
        cause = f"no node has it in {self.bucket.location} any more"
        raise FileNotPublished(path.rpartition("/")[2], 0, cause)

    def signature_files(self, record_name: str, accounts: Mapping[int, int]) -> dict[int, bytes]:
        """Return the available signature files of a record file by node id. Errors: BucketError."""
        name = record_names.signature_name(record_name)
        files: dict[int, bytes] = {}
        problem: BucketError | None = None
        with ThreadPoolExecutor(_CONCURRENCY, thread_name_prefix="published files") as pool:
            futures = {
                node_id: pool.submit(self.read, node_id, account, name)
                for node_id, account in accounts.items()
            }
        for node_id, future in futures.items():
            try:
                files[node_id] = future.result()
            except NoSuchFile:
                continue
            except BucketError as error:
                problem = error
        if not files and problem:
            raise problem
        return files
