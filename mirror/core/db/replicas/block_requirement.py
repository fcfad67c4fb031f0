"""Block requirements: the newest block that an answer rests on, and the one it must not be older than.

A client that sends the block of an answer with its next request never gets an older state. Without it, the
node's answers never go back either.
"""

import threading
import time
from typing import Protocol

from mirror.core import config
from mirror.core.db.reading import sql
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

    def wait_for(self, block: int) -> None:
        """Wait until a server has the block. Errors: those of `begin`."""


#: The reader of a process that reads from replicas; `mirror.core.db.replicas.reading.use` sets it.
reader: ReplicaReader | None = None


class BlockNotAvailable(Exception):
    """No server of the database has the block that a client has seen elsewhere."""

    def __init__(self, block: int, newest: int) -> None:
        self.block, self.newest = block, newest
        last = f"the last one is {newest}" if newest > NO_BLOCK else "there is none yet"
        super().__init__(f"Block {block} is not loaded here yet: {last}. Ask again soon")


class BlockRequirement:
    """The blocks of a request: `since` is the one its client has seen, `newest` that of what it was shown."""

    def __init__(self, since: int = NO_BLOCK) -> None:
        self.since, self.newest = since, NO_BLOCK
        self._oldest: int | None = None

    def record_read(self, block: int) -> None:
        """Record the block of a read; it never falls."""
        if self._oldest is None:
            self._oldest = block
        self.newest = max(self.newest, block)

    def is_consistent(self, newest: int) -> bool:
        """Return whether all of an answer is as new as the block of its header."""
        return self._oldest is None or self._oldest == newest


class _Local(threading.local):
    requirement: BlockRequirement | None = None


_local = _Local()


def begin(since: int = NO_BLOCK) -> BlockRequirement:
    """Begin a request in this thread, once the block `since` is there.

    Errors: BlockNotAvailable, TooManySlowRequests, ClientDisconnected, psycopg.Error.
    """
    requirement = _local.requirement = BlockRequirement(since)
    if since > NO_BLOCK:
        if reader is None:
            requirement.record_read(_wait_for(since))
        else:
            reader.wait_for(since)
    return requirement


def resume(since: int) -> None:
    """Resume a request of another process, which has waited for the block `since`."""
    _local.requirement = BlockRequirement(since)


def end() -> None:
    _local.requirement = None


def current() -> BlockRequirement:
    """Return the requirement of the request that this thread works on."""
    requirement = _local.requirement
    return BlockRequirement() if requirement is None else requirement


def newest(requirement: BlockRequirement) -> int:
    """Return the newest block of an answer that is complete. Errors: those of `begin`."""
    return latest() if reader is None else requirement.newest


def latest() -> int:
    """Return the last block, of a database without replicas. Errors: psycopg.Error."""
    row = sql.fetch_one(LATEST)
    return NO_BLOCK if row is None else int(row[0])


def newest_answered() -> int:
    """Return the newest block that any process has answered from; NO_BLOCK without replicas."""
    return NO_BLOCK if reader is None else reader.scoreboard.newest_answered


def newest_read() -> int:
    """Return the newest block that this process has read from replicas; it may remember any of it."""
    return NO_BLOCK if reader is None else reader.newest_read


def _wait_for(block: int) -> int:
    """Wait until the only server has a block; return its last one. Errors: those of `begin`."""
    wait = BlockWait(block)
    while (last := latest()) < block:
        wait.wait(last)
    return last


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
