"""Fetching the files of a proof: the signature files of all nodes at once, then the file that they sign.

A deadline is a time of `time.monotonic`; files that are late count as missing. Few proofs are fetched at
once, and their requests release the database meanwhile.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from ledger.archive.published_files import NodeFolders
from ledger.state_proofs import Busy
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.address_book import AddressBookNode

# Of one process.
MAX_PROOFS, _MAX_WAITING, MAX_DOWNLOADS = 8, 64, 32

_proofs = threading.BoundedSemaphore(MAX_PROOFS)
_waiting = threading.BoundedSemaphore(_MAX_WAITING)

Result = TypeVar("Result")


@contextmanager
def limited(deadline: float) -> Iterator[None]:
    """Limit how many proofs are made at a time. Errors: Busy."""
    # Half of the time is for fetching.
    with (
        _acquire_or_busy(_waiting, 0),
        _acquire_or_busy(_proofs, max(deadline - time.monotonic(), 0) / 2),
    ):
        yield


@contextmanager
def _acquire_or_busy(semaphore: threading.Semaphore, seconds: float) -> Iterator[None]:
    if not semaphore.acquire(timeout=seconds):
        raise Busy("Too many state proofs are being made: try again later")
    try:
        yield
    finally:
        semaphore.release()


def fetch_from_all(
    buckets: Sequence[NodeFolders],
    nodes: Sequence[AddressBookNode],
    name: str,
    deadline: float,
    *,
    limit: int,
) -> Mapping[int, bytes]:
    """Return a file of each node by node id, from the first bucket with it, as they arrive in time."""
    contents: dict[int, bytes] = {}
    for folders in buckets:
        futures = {
            _pool().submit(folders.read, node.node_id, node.account_id, name, max_bytes=limit): node.node_id
            for node in nodes
            if node.node_id not in contents
        }
        for future in _completed(futures, deadline):
            if (content := _content(future)) is not None:
                contents[futures[future]] = content
    return contents


def fetch_one_by_one(
    buckets: Sequence[NodeFolders], nodes: Sequence[AddressBookNode], name: str, deadline: float
) -> Iterator[bytes]:
    """Yield the copies of a file in the folders of one node after the other, until the deadline."""
    for folders in buckets:
        for start in range(0, len(nodes), folders.concurrency):
            futures = [
                _pool().submit(folders.read, node.node_id, node.account_id, name)
                for node in nodes[start : start + folders.concurrency]
            ]
            completed = _completed(futures, deadline)
            for future in futures:
                if future in completed and (content := _content(future)) is not None:
                    yield content
            if time.monotonic() >= deadline:
                return


def run_until(read: Callable[[], Result], deadline: float) -> Result | None:
    """Return the result of `read`, None after the deadline. Errors: those of `read`."""
    future = _pool().submit(read)
    return future.result() if _completed([future], deadline) else None


def _completed(futures: Iterable[Future[Result]], deadline: float) -> Set[Future[Result]]:
    """Wait until the deadline; return those that are done."""
    completed, pending = wait(futures, max(deadline - time.monotonic(), 0))
    for future in pending:
        future.cancel()
    return completed


def _content(future: Future[bytes]) -> bytes | None:
    try:
        return future.result()
    except StreamFileError:
        return None


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MAX_DOWNLOADS, thread_name_prefix="proof")
