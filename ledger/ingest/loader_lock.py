"""The lock that lets one loader at a time write to the database."""

import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.db import InterfaceError, OperationalError

from ledger.ingest import IngestError
from mirror.core.db import statements
from mirror.models import LOADER_LOCK

LOADER_LOCK_SECONDS = 5.0

# The sessions that hold the lock: whether it is this one, and its name.
_HOLDERS = """
    select l.pid = pg_backend_pid(), a.application_name from pg_locks l
    join pg_database d on d.oid = l.database
    left join pg_stat_activity a on a.pid = l.pid
    where l.locktype = 'advisory' and d.datname = current_database() and l.granted and l.objsubid = 1
        and (l.classid::bigint << 32) | l.objid::bigint = %s"""


@contextmanager
def loader_lock() -> Iterator[None]:
    """Be the one loader of the database. Errors: IngestError when another holds the lock.

    A killed loader holds the lock until the server ends its session. Take the lock before reporting, so that
    a refused loader never reports; a session may take it twice.
    """
    deadline = time.monotonic() + LOADER_LOCK_SECONDS
    while not statements.value("select pg_try_advisory_lock(%s)", [LOADER_LOCK]):
        if time.monotonic() > deadline:
            raise _held()
        time.sleep(0.1)
    # The name that other loaders see when they are refused.
    name = f"process {os.getpid()} on {socket.gethostname()}"
    statements.execute("select set_config('application_name', %s, false)", [name])
    try:
        yield
    finally:
        # A session that was lost has lost its lock too.
        with suppress(OperationalError, InterfaceError):
            statements.execute("select pg_advisory_unlock(%s)", [LOADER_LOCK])
            statements.execute("reset application_name")


def require_lock() -> None:
    """Require that this session still holds the lock. Errors: OperationalError; IngestError."""
    if not any(is_own for is_own, _ in _holders()):
        raise IngestError(
            "database",
            "",
            "this loader has lost its lock",
            "It has to start again: does a proxy between node and database end or share sessions?",
        )


def _holders() -> list[tuple[Any, ...]]:
    return statements.rows(_HOLDERS, [LOADER_LOCK])


def _held() -> IngestError:
    names = (name for _, name in _holders() if name)
    holder = next(names, "of another user of the database")
    return IngestError(
        "database",
        "",
        f"another loader is writing to it, {holder}",
        "Wait for it to end, or stop it; `manage.py status` says what it is doing.",
    )
