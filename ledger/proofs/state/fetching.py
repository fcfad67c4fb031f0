"""Fetching the files of a proof: each node's signature file at once, then the file that they sign.

All of it has to be there by a deadline, a time of `time.monotonic`; what is late counts as missing. Few
proofs are fetched at once, and meanwhile their requests leave the database to others.
"""

import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from functools import cache
from typing import TypeVar

from ledger.archive.published_files import Place
from ledger.proofs.state.errors import Busy
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.address_book import AddressBookNode
from mirror.core.db.scheduling import request_scheduler

# Of one process.
MOST_PROOFS, _MOST_WAITING, MOST_DOWNLOADS = 8, 64, 32

_proofs = threading.BoundedSemaphore(MOST_PROOFS)
_waiting = threading.BoundedSemaphore(_MOST_WAITING)

Reading = Future[bytes]
Result = TypeVar("Result")

#: Reads a file as a node has published it, from one place. Errors: StreamFileError.
Read = Callable[[Place, AddressBookNode, str], bytes]


@contextmanager
def others_served(deadline: float) -> Iterator[None]:
    """Leave this thread's turn to other requests while files are fetched. Errors: Busy."""
    if not _waiting.acquire(blocking=False):
        raise _busy()
    try:
        with request_scheduler.left():
            # Half of the time is for fetching.
            if not _proofs.acquire(timeout=max(deadline - time.monotonic(), 0) / 2):
                raise _busy()
            try:
                yield
            finally:
                _proofs.release()
    finally:
        _waiting.release()


def _busy() -> Busy:
    return Busy("Too many state proofs are being made: try again later")


def from_all(
    places: Sequence[Place], read: Read, nodes: Sequence[AddressBookNode], name: str, deadline: float
) -> Mapping[int, bytes]:
    """Return a file of each node by node id, without those that can't be had in time.

    A place is asked for what the ones before it lack.
    """
    contents: dict[int, bytes] = {}
    for place in places:
        reading = {
            _pool().submit(read, place, node, name): node.node_id
            for node in nodes
            if node.node_id not in contents
        }
        for each in _done(reading, deadline):
            if (content := _content(each)) is not None:
                contents[reading[each]] = content
    return contents


def one_by_one(
    places: Sequence[Place], read: Read, nodes: Sequence[AddressBookNode], name: str, deadline: float
) -> Iterator[bytes]:
    """Yield a file as one node after the other has it in each place, as long as there is time."""
    for place in places:
        for start in range(0, len(nodes), place.at_once):
            some = nodes[start : start + place.at_once]
            reading = [_pool().submit(read, place, node, name) for node in some]
            done = _done(reading, deadline)
            for each in reading:
                if each in done and (content := _content(each)) is not None:
                    yield content
            if time.monotonic() >= deadline:
                return


def in_time(read: Callable[[], Result], deadline: float) -> Result | None:
    """Return what is read, None if that takes too long. Errors: those of `read`."""
    reading = _pool().submit(read)
    return reading.result() if _done([reading], deadline) else None


def _done(reading: Iterable[Future[Result]], deadline: float) -> Set[Future[Result]]:
    """Wait; return those that were done in time."""
    done, late = wait(reading, max(deadline - time.monotonic(), 0))
    for each in late:
        each.cancel()
    return done


def _content(done: Reading) -> bytes | None:
    try:
        return done.result()
    except StreamFileError:
        return None


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(MOST_DOWNLOADS, thread_name_prefix="proof")
