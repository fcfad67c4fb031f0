"""Silence of the database: its server accepts statements and answers none, as when it is stopped.

PostgreSQL's own timeouts end nothing then. While a request takes long, each web worker probes the server on a
connection of its own. Unless the probe is answered, the worker shuts its connections, which ends their
statements, and opens no other one until a later probe is answered. A server that is gone refuses connections
by itself, and replicas have a watcher of their own (`mirror.core.db.replicas.watching`).
"""

import os
import socket
import threading
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import psycopg
from django.db import connection

from mirror.core import config
from mirror.core.db.availability import outage
from mirror.core.db.reading import bounded_query

#: The setting with the seconds after which a server that does not answer a probe is silent.
SETTING = "db.silentAfter"
# A request that is at work for so long is reason for a probe; the time between two probes.
_LONG_SECONDS, _PAUSE_SECONDS, _LOOK_SECONDS = 0.5, 1.0, 0.2
# A connection that is being made can't be shut.
_CONNECT_SECONDS = 4

_connections: "weakref.WeakSet[psycopg.Connection[Any]]" = weakref.WeakSet()
_lock = threading.Lock()
_silent, _watched = threading.Event(), threading.Event()


class ServerSilent(psycopg.OperationalError):
    """The server does not answer."""

    def __init__(self) -> None:
        super().__init__(f"the server has not answered within {config.value(SETTING):g} s")


def is_silent() -> bool:
    """Return whether the server has not answered the last probe of this process."""
    return _silent.is_set()


def check() -> None:
    """Raise ServerSilent instead of waiting for a silent server."""
    if _silent.is_set():
        raise ServerSilent


def connect_options() -> dict[str, Any]:
    """Return libpq's options that end an attempt to connect in a process that watches the server."""
    return {"connect_timeout": _CONNECT_SECONDS} if _watched.is_set() else {}


def note(opened: "psycopg.Connection[Any]") -> None:
    """Note a connection that is shut if the server falls silent."""
    with _lock:
        _connections.add(opened)


def watch(is_at_work: Callable[[float], object]) -> None:
    """Watch the server, for ever; `is_at_work` returns whether a request has been so for some seconds."""
    _watched.set()
    while True:
        time.sleep(_LOOK_SECONDS)
        if not (_silent.is_set() or is_at_work(_LONG_SECONDS)):
            continue
        if _answers():
            _silent.clear()
            time.sleep(_PAUSE_SECONDS)
        elif not _silent.is_set():
            _silent.set()
            outage.report(ServerSilent(), is_certain=True)
            _shut_connections()


def _answers() -> bool:
    try:
        bounded_query.ask(_select, config.value(SETTING))
    except bounded_query.NoAnswer:
        return False
    except outage.ERRORS:
        # The error is an answer: statements get it at once, too.
        return True
    return True


def _select() -> None:
    with connection.cursor() as cursor:
        cursor.execute("select 1")


def _shut_connections() -> None:
    with _lock:
        opened = list(_connections)
    for each in opened:
        # Their threads close them.
        with suppress(OSError, psycopg.Error), socket.socket(fileno=os.dup(each.fileno())) as shut:
            shut.shutdown(socket.SHUT_RDWR)
