"""The database connections of a process that answers requests: psycopg's pools.

A server has a small pool for quick statements, and a smaller one for slow ones, so that slow requests neither
take all connections nor make quick ones wait. Threads wait for a connection in the order in which they came.
"""

import logging
import math
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import Any, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg_pool import ConnectionPool, PoolTimeout, TooManyRequests

from mirror.core import config
from mirror.core.db.availability import outage, unresponsive
from mirror.core.db.availability.unresponsive import IndependentConnection, WatchedConnection
from mirror.core.db.reading import statements, timeouts
from mirror.core.db.statements import read_shared_by

Result = TypeVar("Result")

# It would log each connection that a server has closed; `outage` logs outages.
logging.getLogger("psycopg.pool").setLevel(logging.CRITICAL)

_SLOW_WAIT = "rest.db.statementTimeout"
# How long a quick statement waits for a connection, and how long a pool tries to make one.
_QUICK_SECONDS, _RECONNECT_SECONDS = 4.0, 1.0
# Statements that wait for slow ones; further ones are refused.
_MAX_SLOW_WAITING = 5


class TooManySlowRequests(Exception):
    """Too many slow requests run or wait, so this one can't run as well."""


class Busy(Exception):
    """All connections have been in use for too long."""


class NoConnection(psycopg.OperationalError):
    """The server accepts no connection."""


class ConnectionClosed(psycopg.OperationalError):
    """The server has closed the connection of a statement."""


class ServerPools:
    """The pools to one server; `settings` are Django's of a connection to it."""

    def __init__(
        self,
        quick: int,
        slow: int,
        settings: Mapping[str, Any],
        kind: type[WatchedConnection] = IndependentConnection,
    ) -> None:
        wrapper: Any = connections.create_connection(DEFAULT_DB_ALIAS)
        wrapper.settings_dict = settings
        # Django's cursor puts values into the text of a statement.
        parameters = wrapper.get_connection_params() | {"cursor_factory": psycopg.Cursor, "autocommit": True}
        make = partial(_pool, kind, unresponsive.connect_options() | parameters)
        self._lent: set[WatchedConnection] = set()
        self._quick = make(quick, timeout=_QUICK_SECONDS)
        self._slow = make(slow, timeout=config.value(_SLOW_WAIT), max_waiting=_MAX_SLOW_WAITING)

    @contextmanager
    def connection(self, *, slow: bool) -> Iterator[WatchedConnection]:
        """Lend a connection. Errors: TooManySlowRequests, Busy, psycopg.OperationalError without a server."""
        pool = self._slow if slow else self._quick
        began = time.monotonic()
        try:
            lent = pool.getconn()
        except TooManyRequests:
            raise TooManySlowRequests from None
        except PoolTimeout as error:
            if self._lent:
                raise (TooManySlowRequests if slow else Busy) from None
            raise NoConnection("no connection could be made") from error
        finally:
            statements.local.waited += time.monotonic() - began
        self._lent.add(lent)
        try:
            yield lent
        finally:
            self._lent.discard(lent)
            pool.putconn(lent)

    def waiting(self, *, slow: bool) -> int:
        """Return how many statements wait for a connection."""
        return int((self._slow if slow else self._quick).get_stats()["requests_waiting"])

    def in_use(self, *, slow: bool) -> int:
        """Return how many connections are lent."""
        stats = (self._slow if slow else self._quick).get_stats()
        return int(stats["pool_size"] - stats["pool_available"])

    def drain(self) -> None:
        """Replace all connections: those of a server that has started again are closed."""
        self._quick.drain()
        self._slow.drain()

    def close(self) -> None:
        self._quick.close()
        self._slow.close()


def _pool(
    kind: type[WatchedConnection],
    parameters: dict[str, Any],
    most: int,
    *,
    timeout: float,
    max_waiting: int = 0,
) -> ConnectionPool[WatchedConnection]:
    return ConnectionPool(
        kwargs=parameters,
        connection_class=kind,
        configure=_configure,
        min_size=0,
        max_size=most,
        timeout=timeout,
        max_waiting=max_waiting,
        reconnect_timeout=_RECONNECT_SECONDS,
        num_workers=1,
        open=True,
    )


def _configure(opened: WatchedConnection) -> None:
    if (setting := timeouts.statement()) is not None:
        opened.execute(*setting)


class Reader:
    """Reads by pools to the server of DATABASE_URL. Statements are slow after `slow_after` seconds."""

    def __init__(
        self,
        quick: int,
        slow: int,
        slow_after: float = math.inf,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        self.slow_after = slow_after
        settings = settings or connections.settings[DEFAULT_DB_ALIAS]
        self.primary = ServerPools(quick, slow, settings, WatchedConnection)

    def read(self, work: Callable[[WatchedConnection], Result], *, slow: bool) -> Result:
        """Return what `work` reads. Errors: those of `work`, and of `ServerPools.connection`."""
        return self.read_from_primary(work, slow=slow)

    def read_from_primary(self, work: Callable[[WatchedConnection], Result], *, slow: bool) -> Result:
        unresponsive.check()
        try:
            return self._attempt(work, slow=slow)
        except ConnectionClosed:
            # The server has started again, or has closed an idle connection.
            self.primary.drain()
        try:
            return self._attempt(work, slow=slow)
        except ConnectionClosed as error:
            raise psycopg.OperationalError(str(error)) from error

    def _attempt(self, work: Callable[[WatchedConnection], Result], *, slow: bool) -> Result:
        try:
            lending = self.primary.connection(slow=slow)
            with lending as lent:
                try:
                    return work(lent)
                except unresponsive.ServerUnresponsive:
                    raise
                except psycopg.OperationalError as error:
                    if lent.closed:
                        raise ConnectionClosed(str(error)) from error
                    raise
        except NoConnection as error:
            outage.begin_silence(error)
            raise
        except (Busy, TooManySlowRequests):
            # They may wait for a server that is silent.
            unresponsive.check()
            raise

    def close(self) -> None:
        self.primary.close()


_reader: Reader | None = None


def use(reader: Reader | None) -> None:
    """Have this process read by pools; None for Django's connections."""
    global _reader
    _reader = reader
    read_shared_by(None if reader is None else partial(reader.read, slow=False))


def reader() -> Reader | None:
    """Return what this process reads by; None for Django's connections."""
    return _reader
