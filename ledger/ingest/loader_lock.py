"""The lock that lets one loader at a time write to the database."""

import os
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import InterfaceError, OperationalError, connection
from django.db.backends.utils import CursorWrapper

from ledger.ingest.errors import IngestError, TableSwapRequested
from mirror.models import LOADER_LOCK, REPLACING_LOCK

LOADER_LOCK_SECONDS = 5.0

_REPLACING = """
    select exists (
        select from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and d.datname = current_database() and l.granted
            and l.classid = %s and l.objid = %s and l.objsubid = 1 and l.pid <> pg_backend_pid())"""

_HELD_HERE = """
    select exists (
        select from pg_locks
        where locktype = 'advisory' and pid = pg_backend_pid() and granted
            and classid = %s and objid = %s and objsubid = 1)"""

_HOLDER = """
    select a.application_name from pg_locks l
    join pg_database d on d.oid = l.database
    left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and d.datname = current_database() and l.granted
        and l.classid = %s and l.objid = %s and l.objsubid = 1"""


@contextmanager
def loader_lock(lock: int = LOADER_LOCK, stopping: threading.Event | None = None) -> Iterator[None]:
    """Be the one loader of the database. Errors: IngestError when another holds the lock; TableSwapRequested.

    A killed loader holds the lock until the server ends its session. Take the lock before reporting, so that
    a refused loader never reports; a session may take it twice. While a backfill swaps its tables in, this
    waits, and raises TableSwapRequested once `stopping` is set. A backfill has a `lock` of its own.
    """
    with connection.cursor() as cursor:
        deadline = time.monotonic() + LOADER_LOCK_SECONDS
        while True:
            # The backfill waits for a session that has the lock already.
            if lock == LOADER_LOCK and swap_requested(cursor) and not _is_held_here(cursor):
                if stopping and stopping.is_set():
                    raise TableSwapRequested
                deadline = time.monotonic() + LOADER_LOCK_SECONDS
                time.sleep(0.1)
                continue
            cursor.execute("select pg_try_advisory_lock(%s)", [lock])
            if cursor.fetchone()[0]:
                break
            if time.monotonic() > deadline:
                raise _held(cursor, lock)
            time.sleep(0.1)
        cursor.execute("select set_config('application_name', %s, false)", [_session_name()])
    try:
        yield
    finally:
        # A session that was lost has lost its lock too.
        with suppress(OperationalError, InterfaceError), connection.cursor() as cursor:
            cursor.execute("select pg_advisory_unlock(%s)", [lock])
            cursor.execute("reset application_name")


def swap_requested(cursor: CursorWrapper) -> bool:
    """Return whether a backfill in another session waits to swap its tables in."""
    cursor.execute(_REPLACING, [REPLACING_LOCK >> 32, REPLACING_LOCK & 0xFFFFFFFF])
    return bool(cursor.fetchone()[0])


def _is_held_here(cursor: CursorWrapper) -> bool:
    cursor.execute(_HELD_HERE, [LOADER_LOCK >> 32, LOADER_LOCK & 0xFFFFFFFF])
    return bool(cursor.fetchone()[0])


def _session_name() -> str:
    """Return the name of the loader's session, which other loaders see when they are refused."""
    return f"process {os.getpid()} on {socket.gethostname()}"


def _held(cursor: CursorWrapper, lock: int) -> IngestError:
    """Return the error that says who holds the lock."""
    cursor.execute(_HOLDER, [lock >> 32, lock & 0xFFFFFFFF])
    holder = next((name for (name,) in cursor.fetchall() if name), "of another user of the database")
    return IngestError(
        "database",
        "",
        f"another loader is writing to it, {holder}",
        "Wait for it to end, or stop it; `manage.py status` says what it is doing.",
    )
