"""The processor time of requests: that of their threads, and of PostgreSQL's processes on this machine.

How long a request takes says little while the processors are busy with others.
"""

import threading
import time
from pathlib import Path
from typing import Any, NamedTuple

import psycopg

_HERE = ("localhost", "127.0.0.1", "::1")
# How Linux names the clock of all threads of a process: see clock_getcpuclockid(3).
_SHIFT, _OF_SCHEDULER = 3, 2


class _Began(NamedTuple):
    """The clocks of a thread and of a connection, and their sum when work began."""

    thread: int
    connection: int
    seconds: float

    def now(self) -> float | None:
        try:
            return time.clock_gettime(self.thread) + time.clock_gettime(self.connection)
        except OSError:
            # The thread or PostgreSQL's process has ended.
            return None


class CpuMeter:
    """Measures the time of a thread and of its database connection."""

    def __init__(self) -> None:
        self._connection: psycopg.Connection[Any] | None = None
        self._clock: int | None = None
        self._began: _Began | None = None

    def begin(self, connection: psycopg.Connection[Any] | None) -> None:
        """Begin to measure the time of this thread."""
        self._began = None
        if connection is not self._connection:
            self._clock = None if connection is None else _clock(connection)
            self._connection = connection
        if self._clock is not None:
            began = _Began(time.pthread_getcpuclockid(threading.get_ident()), self._clock, 0.0)
            if (now := began.now()) is not None:
                self._began = began._replace(seconds=now)

    def lap(self, connection: psycopg.Connection[Any] | None) -> float | None:
        """Return the time since then, or since the last lap.

        It is None if it is unknown, or was spent with another connection.
        """
        began = self._began
        if connection is not self._connection or began is None or (now := began.now()) is None:
            self.begin(connection)
            return None
        self._began = _Began(began.thread, began.connection, now)
        return now - began.seconds

    def so_far(self) -> float | None:
        """Return the time since then, if it is known; any thread may ask."""
        began = self._began
        return None if began is None or (now := began.now()) is None else now - began.seconds


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
