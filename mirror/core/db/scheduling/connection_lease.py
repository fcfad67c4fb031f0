"""The right to work, with a database connection; `request_scheduler` grants it."""

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg

from mirror.core import logs
from mirror.core.db.scheduling.cpu_time import CpuMeter
from mirror.core.db.scheduling.slow_slot import SlowRequestSlot

if TYPE_CHECKING:
    from mirror.core.db.backend.base import DatabaseWrapper

log = logs.logger("mirror.db")

#: What a lease is used for; it must not raise.
Work = Callable[[], None]

_CANCEL_SECONDS = 1.0


class Refused(NamedTuple):
    """Slow work that has waited for too long: its first statement ends it."""

    work: Work


class ConnectionLease:
    """The right to work, with a connection to do it."""

    def __init__(
        self, connection: "DatabaseWrapper | None" = None, slot: SlowRequestSlot | None = None
    ) -> None:
        self.connection = connection
        #: What makes it the lease of a slow request.
        self.slot = slot
        self.work: Work | None = None
        self.began = 0.0
        # Set by others: the work has to call `go_on` before its next statement.
        self.interrupted = self.abandoned = self.refused = False
        #: The connection to a replica that it has read with, if any.
        self.reads: DatabaseWrapper | None = None
        #: Whether a statement of `mirror.core.db.reading.sql` runs, which may be cancelled.
        self.reading = False
        #: Whether the connection must not be used for other work.
        self.spoiled = False
        self._meter = CpuMeter()
        # Held while the work is interrupted, so that it ends neither itself nor the statement of another.
        self.lock = threading.Lock()

    def use_for(self, work: Work | Refused | None) -> None:
        self.interrupted = self.refused = isinstance(work, Refused)
        self.abandoned = self.reading = False
        # Others look at the work first, and then at these.
        self.began = time.monotonic()
        self.work = work.work if isinstance(work, Refused) else work

    def begin(self) -> None:
        """Begin to measure the processor time of work, in the thread that does it."""
        self._meter.begin(self._session)

    def so_far(self) -> float | None:
        """Return the processor time since then, if it is known; any thread may ask."""
        return self._meter.so_far()

    def lap(self) -> float | None:
        """Return the processor time since then, or since the last lap, if it is known."""
        return self._meter.lap(self._session)

    @property
    def _session(self) -> "psycopg.Connection[Any] | None":
        wrapper = self.connection if self.reads is None else self.reads
        return None if wrapper is None else wrapper.connection

    def interrupt(self) -> None:
        """Cancel the statement that runs; the caller holds the lock."""
        self.interrupted = True
        own = self.connection
        # The thread that works may be replacing one that is broken.
        connection = None if own is None or own.in_atomic_block else self._session
        if self.reading and connection is not None:
            try:
                connection.cancel_safe(timeout=_CANCEL_SECONDS)
            except psycopg.Error as error:
                # It may reach the server later, and would end the statement of another.
                self.spoiled = True
                log.warning("statement_not_cancelled", reason=str(error))


class ThreadHandoff:
    """Wakes one thread, and hands it a lease."""

    def __init__(self) -> None:
        self._given = threading.Lock()
        self._given.acquire()
        self._turn: ConnectionLease | None = None

    def give(self, lease: ConnectionLease) -> None:
        self._turn = lease
        self._given.release()

    def wait(self, seconds: float = -1) -> ConnectionLease | None:
        return self._turn if self._given.acquire(timeout=seconds) else None
