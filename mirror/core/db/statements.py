"""Single statements on this thread's connection, outside of requests, and advisory locks.

Requests read by `mirror.core.db.reading`, which limits and schedules them. Without values a statement is
executed as it stands: a % in it is one.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.db import Error, connection

Row = tuple[Any, ...]
#: The values of the placeholders, in order or by name.
Values = Sequence[Any] | Mapping[str, Any]

#: A condition: some session holds the lock with this number.
IS_LOCKED = """exists (
        select from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and l.objsubid = 1 and d.datname = current_database() and l.granted
            and (l.classid::bigint << 32) | l.objid::bigint = %s)"""

_RETRY_SECONDS = 0.5


def rows(statement: str, values: Values = ()) -> list[Any]:
    """Return all rows of a statement. Errors: DatabaseError."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        found: list[Any] = cursor.fetchall()
        return found


def row(statement: str, values: Values = ()) -> Any:
    """Return the first row of a statement, None without any. Errors: DatabaseError."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return cursor.fetchone()


def value(statement: str, values: Values = ()) -> Any:
    """Return the first column of the first row, None without any row. Errors: DatabaseError."""
    first = row(statement, values)
    return first[0] if first else None


def execute(statement: str, values: Values = ()) -> None:
    """Execute a statement that returns no rows. Errors: DatabaseError."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)


def column(statement: str, values: Values = ()) -> list[Any]:
    """Return the first column of all rows. Errors: DatabaseError."""
    return [first for first, *_ in rows(statement, values)]


def quoted(name: str) -> str:
    return str(connection.ops.quote_name(name))


def session() -> "psycopg.Connection[tuple[Any, ...]]":
    """Return this thread's connection itself: what it executes is not part of a request."""
    connection.ensure_connection()
    opened: psycopg.Connection[tuple[Any, ...]] = connection.connection
    return opened


Read = Callable[[Callable[["psycopg.Connection[Any]"], list[Any]]], list[Any]]
_read: Read | None = None


def read_shared_by(read: Read | None) -> None:
    """Have `shared_rows` read by `read`, which lends a connection; None for this thread's own."""
    global _read
    _read = read


def shared_rows(statement: str, values: Values = ()) -> list[Any]:
    """Return the rows of a statement that serves all requests. Errors: psycopg.Error, DatabaseError."""
    if _read is not None and not connection.in_atomic_block:
        return _read(lambda lent: lent.execute(statement, values).fetchall())
    return session().execute(statement, values).fetchall()


# ADVISORY LOCKS


def is_locked(lock: int) -> bool:
    """Return whether some session holds a lock."""
    return bool(value(f"select {IS_LOCKED}", [lock]))


@contextmanager
def locked(
    lock: int, *, stopping: threading.Event | None = None, pause: float = _RETRY_SECONDS
) -> Iterator[bool]:
    """Hold an advisory lock, tried repeatedly; yield False if `stopping` is set before it is taken."""
    stopping = stopping or threading.Event()
    while not value("select pg_try_advisory_lock(%s)", [lock]):
        if stopping.wait(pause):
            yield False
            return
    try:
        yield True
    finally:
        # A session that was lost has lost its lock too.
        with suppress(Error):
            execute("select pg_advisory_unlock(%s)", [lock])
