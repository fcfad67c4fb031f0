"""The processor time of requests: that of their threads, and of PostgreSQL's processes on this machine.

How long a request takes says little while others keep the processors busy.
"""

import time
from pathlib import Path
from typing import Any

import psycopg

_HERE = ("localhost", "127.0.0.1", "::1")
# How Linux names the clock of all threads of a process: see clock_getcpuclockid(3).
_SHIFT, _OF_SCHEDULER = 3, 2


class Meter:
    """Measures the time of a thread and of its database connection."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection[Any] | None = None
        self._clock: int | None = None
        self._began: float | None = None

    def begin(self, connection: psycopg.Connection[Any] | None) -> None:
        """Begin to measure the time of this thread."""
        self._began = self._time(connection)

    def lap(self, connection: psycopg.Connection[Any] | None) -> float | None:
        """Return the time since then, or since the last lap.

        It is None if it is unknown, or was spent with another connection.
        """
        before, began = self._connection, self._began
        now = self._began = self._time(connection)
        return None if began is None or now is None or connection is not before else now - began

    def _time(self, connection: psycopg.Connection[Any] | None) -> float | None:
        if connection is not self._connection:
            self._connection = connection
            self._clock = None if connection is None else _clock(connection)
        if self._clock is None:
            return None
        try:
            return time.thread_time() + time.clock_gettime(self._clock)
        except OSError:
            # PostgreSQL's process has ended.
            return None


def _clock(connection: psycopg.Connection[Any]) -> int | None:
    """Return the clock of the processor time of a connection's process, if that runs on this machine."""
    try:
        info = connection.info
        if not (info.host.startswith("/") or info.host in _HERE):
            return None
        if not Path(f"/proc/{info.backend_pid}/cmdline").read_bytes().startswith(b"postgres"):
            # It runs in a container, where its number means another one.
            return None
    except (psycopg.Error, OSError):
        return None
    return (~info.backend_pid << _SHIFT) | _OF_SCHEDULER
