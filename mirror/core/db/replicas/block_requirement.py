"""Block requirements: the newest block that an answer rests on, and the one it must not be older than.

What a node that reads from replicas computes is never older than what any of its processes computed before.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

from mirror.core import config
from mirror.core.db.replicas.servers import Server
from mirror.core.db.replicas.shared_state import NO_BLOCK, Scoreboard
from mirror.core.db.scheduling import request_scheduler

PATIENCE = "db.readPatience"

# Index: the primary key (consensus_end).
LATEST = "select index from record_file order by consensus_end desc limit 1"

_POLL_SECONDS = 0.05
# Requests of a process that wait for a block: each has a thread.
_MAX_WAITING = 16
_waiting = threading.BoundedSemaphore(_MAX_WAITING)


class ReplicaReader(Protocol):
    """What reads from replicas."""

    scoreboard: Scoreboard
    servers: list[Server]

    @property
    def newest_read(self) -> int:
        """The newest block that this process has read."""


#: The reader of a process that reads from replicas; `mirror.core.db.replicas.reading.use` sets it.
reader: ReplicaReader | None = None


class BlockNotAvailable(Exception):
    """No server of the database has a block that the node has answered from."""

    def __init__(self, block: int, newest: int) -> None:
        self.block, self.newest = block, newest
        last = f"the last one is {newest}" if newest > NO_BLOCK else "there is none yet"
        super().__init__(f"Block {block} is not loaded here yet: {last}. Ask again soon")


class BlockRequirement:
    """The blocks of a request: `since` is the least that it may read, `newest` that of what it has read."""

    def __init__(self, since: int = NO_BLOCK) -> None:
        self.since, self.newest = since, NO_BLOCK

    def record_read(self, block: int) -> None:
        """Record the block of a read; it never falls."""
        self.newest = max(self.newest, block)


class _Local(threading.local):
    requirement: BlockRequirement | None = None


_local = _Local()


def begin(since: int = NO_BLOCK) -> None:
    """Begin a request in this thread, which reads the block `since` or a later one."""
    _local.requirement = BlockRequirement(since)


def end() -> None:
    _local.requirement = None


@contextmanager
def request() -> Iterator[None]:
    """Have all statements of a request read the same block or later ones."""
    begin()
    try:
        yield
    finally:
        end()


def current() -> BlockRequirement:
    """Return the requirement of the request that this thread works on."""
    requirement = _local.requirement
    return BlockRequirement() if requirement is None else requirement


def newest_answered() -> int:
    """Return the newest block that any process has answered from; NO_BLOCK without replicas."""
    return NO_BLOCK if reader is None else reader.scoreboard.newest_answered


def newest_read() -> int:
    """Return the newest block that this process has read from replicas; it may remember any of it."""
    return NO_BLOCK if reader is None else reader.newest_read


class BlockWait:
    """Waiting for a block, without the lease of this thread, for as long as the setting allows."""

    def __init__(self, block: int) -> None:
        self._block = block
        self._until = time.monotonic() + config.value(PATIENCE)

    def wait(self, last: int) -> None:
        """Wait briefly; `last` is the newest block there is. Errors: BlockNotAvailable."""
        if time.monotonic() >= self._until or not _waiting.acquire(blocking=False):
            raise BlockNotAvailable(self._block, last)
        try:
            with request_scheduler.released():
                time.sleep(_POLL_SECONDS)
        finally:
            _waiting.release()
