"""Outages of the database: the errors that mean one, its lines in the log, and work that outlasts it.

The log of a node has a line when its database goes away, a line each minute with the number of requests
refused so far, and a line when it is back. The node's processes share a file in the data folder: each refused
request adds a byte to it, and the process that holds its lock writes the lines.
"""

import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import psycopg
from django.conf import settings
from django.db import Error as DjangoError
from django.db import connections

from mirror.core import logs
from mirror.core.db import statements
from mirror.core.db.availability import bounded_query
from mirror.core.db.distribution import cluster
from mirror.core.metrics import database
from mirror.core.processes.files import try_lock
from mirror.core.processes.operating_system import memory_file

log = logs.logger("mirror.db")

Result = TypeVar("Result")

#: What clients are answered during an outage.
SENTENCE = "The database does not answer: try again in a moment"
ERRORS = (DjangoError, psycopg.Error)
_CURE = "Start it, or make room on its disk: loading and answers go on by themselves."

# Class 08 is about connections; the others: the server shuts down, has crashed, starts, has no slot left, has
# ended a session that rested for too long, outside or within a transaction.
_STATES = ("08", "57P01", "57P02", "57P03", "53300", "57P05", "25P03")
_POLL_SECONDS, _REMIND_SECONDS = 0.5, 60.0
#: Set while the database does not answer (`mirror.core.db.availability.unresponsive`).
silent = threading.Event()
# A server that does not answer for so long does not answer.
_ANSWER_SECONDS = 5.0
# A loader that waits goes on at most so long after the database is back.
_FIRST_PAUSE, _MAX_PAUSE = 0.2, 2.0


def is_outage(error: BaseException) -> bool:
    """Return whether an error, or a cause of it, means that the database can't be reached."""
    return any(
        isinstance(cause, psycopg.OperationalError | psycopg.InterfaceError)
        and (cause.sqlstate or "08").startswith(_STATES)
        for cause in _causes(error)
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    while error is not None:
        yield error
        error = error.__cause__


def is_available() -> bool:
    """Return whether the database, with all workers it has, answers in time, on a new connection."""
    try:
        return bounded_query.run_query(_query_all, _ANSWER_SECONDS)
    except (bounded_query.QueryTimeout, *ERRORS):
        return False


def _query_all() -> bool:
    statements.execute("select 1")
    return not cluster.unresponsive_workers()


def begin_silence(error: BaseException) -> None:
    """Set `silent` until the database answers, and report that it does not."""
    if silent.is_set():
        return
    silent.set()
    threading.Thread(target=_end_silence, name="silent database", daemon=True).start()
    report(error, is_certain=True)


def _end_silence() -> None:
    try:
        while not is_available():
            time.sleep(_POLL_SECONDS)
    finally:
        silent.clear()


# LOG


_lock = threading.Lock()
# Whether this process writes the lines.
_writing = False


def report(error: BaseException, *, request: bool = False, is_certain: bool = False) -> None:
    """Log an outage, once for all processes; `request` if a request is refused for it.

    Unless `is_certain`, the database may have closed a connection only.
    """
    global _writing
    file = _open()
    if request:
        # On a full disk the request is not counted.
        with suppress(OSError):
            os.write(file, b".")
    with _lock:
        if not _writing and try_lock(file):
            _writing = True
            # Requests refused in an earlier outage don't count.
            with suppress(OSError):
                os.ftruncate(file, int(request))
            threading.Thread(target=_write, args=(file, reason(error), is_certain), daemon=True).start()
            return
    os.close(file)


def _write(file: int, reason: str, is_certain: bool) -> None:
    global _writing
    began = reminded = time.monotonic()

    def so_far() -> tuple[int, int]:
        return int(time.monotonic() - began), os.fstat(file).st_size

    if not (is_certain or silent.is_set()) and is_available():
        log.warning("database_connection_lost", reason=reason)
    else:
        database.OUTAGES.inc()
        log.error("database_away", reason=reason, cure=_CURE)
        while not is_available():
            if time.monotonic() - reminded >= _REMIND_SECONDS:
                reminded = time.monotonic()
                seconds, refused = so_far()
                log.warning("database_still_away", seconds=seconds, requests_refused=refused)
            time.sleep(_POLL_SECONDS)
        seconds, refused = so_far()
        log.warning("database_back", seconds=seconds, requests_refused=refused)
    with _lock:
        _writing = False
        os.close(file)


def _open() -> int:
    path = Path(settings.DATA_DIR, "database-outage")
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    except OSError:
        # Without a file to share, each process writes to the log.
        return memory_file("database-outage")


def reason(error: BaseException) -> str:
    """Return the first line of what PostgreSQL says."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


# WORK


def retry_during_outage(
    work: Callable[[], Result], stopping: threading.Event, start_again: Callable[[], object] | None = None
) -> Result | None:
    """Do some work, and again after each outage; None when stopped during an outage.

    `start_again` starts a server that has died. Errors: those of the work, except outages.
    """
    while True:
        try:
            return work()
        except ERRORS as error:
            if not is_outage(error):
                raise
            report(error)
        if not _wait(stopping, start_again):
            return None


def _wait(stopping: threading.Event, start_again: Callable[[], object] | None) -> bool:
    """Wait until the database answers; False if a stop is requested before it does."""
    connections.close_all()
    pause = _FIRST_PAUSE
    while not stopping.wait(pause):
        if start_again:
            start_again()
        if is_available():
            return True
        pause = min(pause * 2, _MAX_PAUSE)
    return False
