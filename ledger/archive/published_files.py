"""Record files of the past, by their names, wherever nodes' folders still have them.

`accounts` are the encoded accounts of nodes by their ids, as `Quorum.accounts` has them. Nothing that is read
here is verified again: whoever uses it compares the hashes with what is stored.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from typing import TypeVar

from ledger.stream.errors import StreamFileError
from ledger.stream.record import names
from ledger.stream.source.bucket import Bucket, BucketError, NoSuchFile
from ledger.stream.source.download import Layout, PathType

_REQUESTS_AT_ONCE = 16
Content = TypeVar("Content")


class NotThere(StreamFileError):
    """A file that no node has published in a place, or has there any more."""


@dataclass(frozen=True)
class Place:
    """A bucket with record files in node folders. `at_once` is the number of nodes that it is asked about."""

    bucket: Bucket
    layout: Layout
    at_once: int = 1

    def folders(self, node_id: int, account_id: int) -> list[str]:
        """Return the folders where a node's record files may be."""
        by_account, by_node = self.layout.account_folder(account_id), self.layout.node_folder(node_id)
        if self.layout.path_type is PathType.ACCOUNT_ID:
            return [by_account]
        return [by_node] if self.layout.path_type is PathType.NODE_ID else [by_account, by_node]


class PublishedFiles:
    """Reads the files of a place. Close it when done."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._pool = ThreadPoolExecutor(_REQUESTS_AT_ONCE, thread_name_prefix="published files")

    def close(self) -> None:
        self._pool.shutdown(wait=False, cancel_futures=True)

    def record_file(
        self, name: str, accounts: Mapping[int, int], read: Callable[[bytes], Content]
    ) -> Content:
        """Return what `read` makes of the first copy that it does not refuse, by a StreamFileError.

        Errors: NotThere; BucketError; the refusal of a copy if there is none but such.
        """
        return self._of_any_node(name, name, accounts, read)

    def sidecar(self, name: str, accounts: Mapping[int, int], read: Callable[[bytes], Content]) -> Content:
        """The same for a sidecar."""
        return self._of_any_node(name, f"{names.SIDECAR_FOLDER}/{name}", accounts, read)

    def signature_files(self, record_name: str, accounts: Mapping[int, int]) -> dict[int, bytes]:
        """Return the signature files of a record file by node id, as far as there are any.

        Errors: BucketError if there are none as the place could not be read.
        """
        name = names.signature_name(record_name)
        asked = {
            self._pool.submit(
                _first, self._place.bucket, self._place.folders(node_id, account), name
            ): node_id
            for node_id, account in accounts.items()
        }
        found: dict[int, bytes] = {}
        problem: BucketError | None = None
        for future in as_completed(asked):
            try:
                found[asked[future]] = future.result()
            except NoSuchFile:
                continue
            except BucketError as error:
                problem = error
        if not found and problem:
            raise problem
        return found

    def _of_any_node(
        self, name: str, path: str, accounts: Mapping[int, int], read: Callable[[bytes], Content]
    ) -> Content:
        problem: StreamFileError | None = None
        for node_id, account in accounts.items():
            try:
                return read(_first(self._place.bucket, self._place.folders(node_id, account), path))
            except NoSuchFile:
                continue
            except StreamFileError as error:
                problem = error
        if problem:
            raise problem
        raise NotThere(name, 0, f"no node has it in {self._place.bucket.location} any more")


def _first(bucket: Bucket, folders: Sequence[str], name: str) -> bytes:
    """Return the file of a name in the first folder that has it. Errors: BucketError."""
    for folder in folders[:-1]:
        try:
            return bucket.read(f"{folder}/{name}")
        except NoSuchFile:
            continue
    return bucket.read(f"{folders[-1]}/{name}")
