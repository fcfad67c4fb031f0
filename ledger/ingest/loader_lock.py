"""The lock that lets one loader at a time write to the database."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import InterfaceError, OperationalError

from ledger.ingest.errors import IngestError, TableSwapRequested
from mirror.core.db import statements
from mirror.models import LOADER_LOCK, REPLACING_LOCK

LOADER_LOCK_SECONDS = 5.0

# The sessions that hold a lock: whether it is this one, and its name.
_HOLDERS = """
    select l.pid = pg_backend_pid(), a.application_name from pg_locks l
    join pg_database d on d.oid = l.database
    left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and d.datname = current_database() and l.granted and l.objsubid = 1
        and (l.classid::bigint << 32) | l.objid::bigint = %s"""


@contextmanager
def loader_lock(lock: int = LOADER_LOCK, stopping: threading.Event | None = None) -> Iterator[None]:
    """Be the one loader of the database. Errors: IngestError when another holds the lock; TableSwapRequested.

    A killed loader holds the lock until the server ends its session. Take the lock before reporting, so that
    a refused loader never reports; a session may take it twice. While a backfill swaps its tables in, this
    waits, and raises TableSwapRequested once `stopping` is set. A backfill has a `lock` of its own.
    """
    deadline = time.monotonic() + LOADER_LOCK_SECONDS
    while True:
        # The backfill waits for a session that has the lock already.
        if lock == LOADER_LOCK and swap_requested() and not _is_held_here(lock):
            if stopping and stopping.is_set():
                raise TableSwapRequested
            deadline = time.monotonic() + LOADER_LOCK_SECONDS
        elif statements.value("select pg_try_advisory_lock(%s)", [lock]):
            break
        elif time.monotonic() > deadline:
            raise _held(lock)
        time.sleep(0.1)
    # The name that other loaders see when they are refused.
    name = f"process {os.getpid()} on {socket.gethostname()}"
    statements.execute("select set_config('application_name', %s, false)", [name])
    try:
        yield
    finally:
        # A session that was lost has lost its lock too.
        with suppress(OperationalError, InterfaceError):
            statements.execute("select pg_advisory_unlock(%s)", [lock])
            statements.execute("reset application_name")


def swap_requested() -> bool:
    """Return whether a backfill in another session waits to swap its tables in."""
    return any(not is_own for is_own, _ in statements.rows(_HOLDERS, [REPLACING_LOCK]))


def require_lock(lock: int) -> None:
    """Check that this session still holds the lock, without which another loader may write.

    Errors: OperationalError if the session was lost, and the lock with it; IngestError.
    """
    if not _is_held_here(lock):
        raise IngestError(
            "database",
            "",
            "this loader has lost its lock",
            "It has to start again: does a proxy between node and database end or share sessions?",
        )


def _is_held_here(lock: int) -> bool:
    return any(is_own for is_own, _ in statements.rows(_HOLDERS, [lock]))


def _held(lock: int) -> IngestError:
    """Return the error that says who holds the lock."""
    names = (name for _, name in statements.rows(_HOLDERS, [lock]) if name)
    holder = next(names, "of another user of the database")
    return IngestError(
        "database",
        "",
        f"another loader is writing to it, {holder}",
        "Wait for it to end, or stop it; `manage.py status` says what it is doing.",
    )
