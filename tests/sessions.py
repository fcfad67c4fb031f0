"""Sessions of PostgreSQL that go on from one test to the next one of a worker.

A new session reads the catalogue of hundreds of tables before it plans its first statements. That takes
longer than what most tests do by it.
"""

import os
import threading
from collections import defaultdict
from contextlib import suppress
from typing import Any

import psycopg
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.pq import TransactionStatus

from mirror.core.db.backend.base import DatabaseWrapper

# Of each process, as one that was forked must not use those of its parent; each with its parameters.
_idle: dict[int, list[tuple[dict[str, Any], psycopg.Connection[Any]]]] = defaultdict(list)
_open = DatabaseWrapper.get_new_connection
_close = BaseDatabaseWrapper._close  # type: ignore[attr-defined]


def opened(wrapper: DatabaseWrapper, parameters: dict[str, Any]) -> psycopg.Connection[Any]:
    """Return a session: for a writer of the loader, which has one for each run, that of the run before."""
    idle = _idle[os.getpid()]
    while _is_writer() and idle:
        of_session, session = idle.pop()
        if of_session == parameters:
            # A test may have ended it.
            with suppress(psycopg.Error):
                _reset(session)
                return session
        session.close()
    return _open(wrapper, parameters)


def closed(wrapper: BaseDatabaseWrapper) -> None:
    """Close a session, unless it is for the next writer."""
    session = wrapper.connection
    if session and _is_writer() and session.info.transaction_status == TransactionStatus.IDLE:
        _idle[os.getpid()].append((wrapper.get_connection_params(), session))
    else:
        _close(wrapper)


def renew() -> bool:
    """Reset this thread's session after a test that commits. Return False: it need not be closed."""
    if connection.connection is not None:
        connection.reading = connection.prepared = None  # type: ignore[attr-defined]
        _reset(connection.connection)
        connection.init_connection_state()
    return False


def end() -> None:
    """Close the idle sessions, without which their database can't be dropped."""
    for _, session in _idle.pop(os.getpid(), ()):
        session.close()


def _is_writer() -> bool:
    return threading.current_thread().name.startswith("writer")


def _reset(session: psycopg.Connection[Any]) -> None:
    session.autocommit = True
    # After a rollback psycopg deallocates its prepared statements, those that it is to forget too.
    session.execute("begin; rollback")
    session.execute("discard all")
