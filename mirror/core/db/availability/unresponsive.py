"""An unresponsive database: its server accepts statements and answers none, as when it is stopped.

PostgreSQL's own timeouts end nothing then. While a request takes long, each web worker probes the server on
new connections. Unless one of two probes is answered, the worker shuts its connections, which ends their
statements, and opens no other one until a later probe is answered. A server that is gone refuses connections
by itself, and replicas are probed on their own (`mirror.core.db.replicas`).
"""

import threading
import weakref
from collections.abc import Callable, Mapping
from typing import Any

import psycopg

from mirror.core import config
from mirror.core.db import statements
from mirror.core.db.availability import outage
from mirror.core.db.reading import bounded_query

#: The setting with the seconds after which a server that answers neither of two probes is silent.
SETTING = "db.silentAfter"
_PROBES = 2
# A request that is at work for so long is reason for a probe; the time between two probes.
LONG_SECONDS, PAUSE_SECONDS, _CHECK_SECONDS = 0.25, 0.6, 0.1
# A connection that is being made can't be shut. Each host of the address has so long, the least of libpq.
_CONNECT_SECONDS = 2

# Open connections -> the name of their server, if it is a replica.
_connections: "weakref.WeakKeyDictionary[psycopg.Connection[Any], str]" = weakref.WeakKeyDictionary()
_lock = threading.Lock()
_watched = threading.Event()


class ServerUnresponsive(psycopg.OperationalError):
    """The server does not answer."""

    def __init__(self) -> None:
        super().__init__(f"the server has not answered within {config.value(SETTING):g} s")


def check() -> None:
    """Raise ServerUnresponsive instead of waiting."""
    if outage.silent.is_set():
        raise ServerUnresponsive


def connect_options() -> dict[str, Any]:
    """Return libpq's options that end an attempt to connect in a process that watches the server."""
    return {"connect_timeout": _CONNECT_SECONDS} if _watched.is_set() else {}


def watch(opened: "psycopg.Connection[Any]", replica: str = "") -> None:
    """Note a connection that is shut if its server falls silent."""
    with _lock:
        _connections[opened] = replica


def shut(replica: str = "") -> None:
    """Shut the connections to a server, which ends the statements that wait for it."""
    with _lock:
        opened = [each for each, server in _connections.items() if server == replica]
    for each in opened:
        bounded_query.shut_down(each)


def probe(is_at_work: Callable[[float], object]) -> float:
    """Probe the server while a request is long at work, as `is_at_work` says; a repeated check."""
    _watched.set()
    was_silent = outage.silent.is_set()
    if not (was_silent or is_at_work(LONG_SECONDS)):
        return _CHECK_SECONDS
    if answers():
        outage.silent.clear()
        return PAUSE_SECONDS
    outage.silent.set()
    # Each time, as some were being made the last time.
    shut()
    if not was_silent:
        outage.report(ServerUnresponsive(), is_certain=True)
    return _CHECK_SECONDS


def answers(settings: Mapping[str, Any] | None = None) -> bool:
    """Return whether a server answers a probe; without `settings` it is that of DATABASE_URL."""
    for _ in range(_PROBES):
        try:
            seconds = config.value(SETTING) / _PROBES
            bounded_query.run_query(lambda: statements.execute("select 1"), seconds, settings)
            return True
        except bounded_query.QueryTimeout:
            continue
        except outage.ERRORS:
            # The error is an answer: statements get it at once, too.
            return True
    return False
