"""The processor time of requests: that of their threads, and of PostgreSQL's processes on this machine.

How long a request takes says little while the processors are busy with others.
"""

import time
from typing import Any

import psycopg

from mirror.core.processes import operating_system, process_table

_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")


class CpuMeter:
    """Measures the time of a thread and of its database connection."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection[Any] | None = None
        self._process: int | None = None
        # The clock of the thread, the process of the connection, and the sum of their times at the last lap.
        self._start: tuple[int, int, float] | None = None

    def begin(self, connection: psycopg.Connection[Any] | None) -> None:
        if connection is not self._connection:
            self._process = None if connection is None else _local_process(connection)
            self._connection = connection
        self._start = None
        if self._process is not None and (thread := operating_system.thread_clock()) is not None:
            # Other threads read it: it is whole or not there.
            now = _since(thread, self._process, 0.0)
            self._start = None if now is None else (thread, self._process, now)

    def lap(self, connection: psycopg.Connection[Any] | None) -> float | None:
        """Return the time since `begin` or the last lap; None if unknown or if the connection has changed."""
        seconds = self.elapsed() if connection is self._connection else None
        if seconds is None or self._start is None:
            self.begin(connection)
            return None
        thread, process, start = self._start
        self._start = thread, process, start + seconds
        return seconds

    def elapsed(self) -> float | None:
        """Return the time since then, if it is known; any thread may ask."""
        start = self._start
        return None if start is None else _since(*start)


def _since(thread: int, process: int, start: float) -> float | None:
    """Return the time since then; None if the thread or PostgreSQL's process has ended."""
    seconds = operating_system.processor_seconds(process)
    try:
        return None if seconds is None else time.clock_gettime(thread) + seconds - start
    except OSError:
        return None


def _local_process(connection: psycopg.Connection[Any]) -> int | None:
    """Return the process of a connection, if that runs on this machine."""
    try:
        info = connection.info
        if not (info.host.startswith("/") or info.host in _LOCAL_HOSTS):
            return None
        if not process_table.command(info.backend_pid).startswith("postgres"):
            # It runs in a container, where its number means another one.
            return None
    except psycopg.Error:
        return None
    return info.backend_pid
