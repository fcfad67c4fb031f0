"""The processor time of requests: that of their threads, and of PostgreSQL's processes on this machine.

How long a request takes says little while the processors are busy with others.
"""

import threading
import time
from typing import Any

import psycopg

from mirror.core.processes import operating_system, process_table

_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


class CpuMeter:
    """Measures the time of a thread and of its database connection."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection[Any] | None = None
        self._clock: int | None = None
        # The clocks of the thread and of the connection, and their sum at the last lap.
        self._start: tuple[int, int, float] | None = None

    def begin(self, connection: psycopg.Connection[Any] | None) -> None:
        if connection is not self._connection:
            self._clock = None if connection is None else _clock(connection)
            self._connection = connection
        self._start = None
        if self._clock is not None and hasattr(time, "pthread_getcpuclockid"):
            thread = time.pthread_getcpuclockid(threading.get_ident())
            # Other threads read it: it is whole or not there.
            now = _since(thread, self._clock, 0.0)
            self._start = None if now is None else (thread, self._clock, now)

    def lap(self, connection: psycopg.Connection[Any] | None) -> float | None:
        """Return the time since then, or since the last lap.

        It is None if it is unknown, or was spent with another connection.
        """
        seconds = self.elapsed() if connection is self._connection else None
        if seconds is None or self._start is None:
            self.begin(connection)
            return None
        thread, clock, start = self._start
        self._start = thread, clock, start + seconds
        return seconds

    def elapsed(self) -> float | None:
        """Return the time since then, if it is known; any thread may ask."""
        start = self._start
        return None if start is None else _since(*start)


def _since(thread: int, clock: int, start: float) -> float | None:
    try:
        return time.clock_gettime(thread) + time.clock_gettime(clock) - start
    except OSError:
        # The thread or PostgreSQL's process has ended.
        return None


def _clock(connection: psycopg.Connection[Any]) -> int | None:
    """Return the clock of the processor time of a connection's process, if that runs here and has one."""
    try:
        info = connection.info
        if not (info.host.startswith("/") or info.host in _LOCAL_HOSTS):
            return None
        if not process_table.command(info.backend_pid).startswith("postgres"):
            # It runs in a container, where its number means another one.
            return None
    except psycopg.Error:
        return None
    return operating_system.process_clock(info.backend_pid)
