"""The right to work, with a database connection; `request_scheduler` grants it."""

import math
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import psycopg

from mirror.core import logs
from mirror.core.db.reading import bounded_query
from mirror.core.db.scheduling.cpu_time import CpuMeter
from mirror.core.db.scheduling.slow_slot import SlowRequestSlot

if TYPE_CHECKING:
    from mirror.core.db.backend.base import DatabaseWrapper

log = logs.logger("mirror.db")

#: What a lease is used for; it must not raise.
Work = Callable[[], None]

_CANCEL_SECONDS = 1.0


@dataclass(eq=False, slots=True)
class QueuedWork:
    """Work that waits for a lease: a thread that does it already gets the lease by `handoff`.

    If it `is_rejected`, its first statement ends it.
    """

    work: Work | None
    handoff: "SimpleQueue[ConnectionLease] | None" = None
    is_rejected: bool = False
    deadline: float = math.inf


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
        # Set by others: the work has to call `resume` before its next statement.
        self.interrupted = self.abandoned = self.rejected = False
        #: Whether a statement of `mirror.core.db.reading.sql` runs, which may be cancelled.
        self.is_reading = False
        #: Whether the connection must not be used for other work.
        self.is_unusable = False
        self.meter = CpuMeter()
        # Held while the work is interrupted, so that it ends neither itself nor the statement of another.
        self.lock = threading.Lock()

    def use_for(self, queued: QueuedWork) -> None:
        self.interrupted = self.rejected = queued.is_rejected
        self.abandoned = self.is_reading = False
        # Other threads read the work first, and then these.
        self.began = time.monotonic()
        self.work = queued.work

    @property
    def replica(self) -> "DatabaseWrapper | None":
        """The connection to a replica that it reads with, if any."""
        return None if self.connection is None else self.connection.replica

    @property
    def session(self) -> "psycopg.Connection[Any] | None":
        """The connection to the server that it reads from."""
        wrapper = self.connection if self.replica is None else self.replica
        return None if wrapper is None else wrapper.connection

    def interrupt(self) -> None:
        """Cancel the statement that runs; the caller holds the lock."""
        self.interrupted = True
        own = self.connection
        # The thread that works may be replacing one that is broken.
        session = None if own is None or own.in_atomic_block else self.session
        if self.is_reading and session is not None:
            try:
                session.cancel_safe(timeout=_CANCEL_SECONDS)
            except psycopg.Error as error:
                # It may reach the server later, and would end the statement of another.
                self.is_unusable = True
                log.warning("statement_not_cancelled", reason=str(error))

    def terminate(self) -> None:
        """End the work though its server may not even accept a cancellation; the caller holds the lock."""
        self.abandoned = self.interrupted = self.is_unusable = True
        for wrapper in (self.connection, self.replica):
            if wrapper is not None and wrapper.connection is not None:
                bounded_query.shut_down(wrapper.connection)

    def finish(self) -> None:
        """End the work, once no thread interrupts it any more."""
        with self.lock:
            self.work = None
        for wrapper in (self.connection, self.replica):
            if wrapper is None:
                continue
            if self.is_unusable:
                wrapper.close()
            elif wrapper.errors_occurred:
                wrapper.close_if_unusable_or_obsolete()
        self.is_unusable = False
