"""An unresponsive database: its server accepts statements and answers none, as when it is stopped.

PostgreSQL's own timeouts end nothing then, and psycopg waits without limit. So a statement that has waited a
second makes its thread probe the server on a new connection, each second one thread of the process. Without
an answer to the probe the statements of the process end, and it opens no connection until a later probe is
answered.
"""

import math
import threading
import time
from collections.abc import Callable, Generator
from typing import Any, Self

import psycopg

from mirror.core import config
from mirror.core.db.availability import outage

#: The setting with the seconds within which a probe is answered.
SETTING = "db.silentAfter"
# The least limit of an attempt to connect that libpq allows; each host of the address may take as long.
_CONNECT_SECONDS = 2
# The time before the first probe and between two, and how long a statement may outlast its own limit.
_PAUSE_SECONDS, _MARGIN_SECONDS = 1.0, 2.0

_watches = False
_probing = threading.Lock()
_probed_at = 0.0


class ServerUnresponsive(psycopg.OperationalError):
    """The server does not answer."""

    def __init__(self) -> None:
        super().__init__(f"the server has not answered within {config.value(SETTING):g} s")


class WatchedConnection(psycopg.Connection[Any]):
    """A connection whose statements end with ServerUnresponsive when the server stops answering."""

    #: What it was opened with.
    parameters: dict[str, Any]
    #: Whether the silence of its server is that of the database, which ends all such connections.
    shares_silence = True
    #: The longest that PostgreSQL works on a statement (seconds).
    limit = math.inf
    #: Returns whether to end a statement that waits, in a process that does not probe the server.
    is_gone: Callable[[], bool] | None = None
    #: The cursor of `mirror.core.db.reading.sql`.
    reading: psycopg.Cursor[Any] | None = None

    @classmethod
    def connect(cls, conninfo: str = "", **parameters: Any) -> Self:
        opened = super().connect(conninfo, **parameters)
        opened.parameters = parameters
        return opened

    def wait(self, gen: Generator[Any, Any, Any], *args: Any, **options: Any) -> Any:
        return super().wait(self._watched(gen), *args, **options)

    def _watched(self, generator: Generator[Any, Any, Any]) -> Generator[Any, Any, Any]:
        began = time.monotonic()
        try:
            wanted = next(generator)
            while True:
                ready = yield wanted
                if not ready and self._is_lost(time.monotonic() - began):
                    self.pgconn.finish()
                    raise ServerUnresponsive
                wanted = generator.send(ready)
        except StopIteration as end:
            return end.value

    def _is_lost(self, waited: float) -> bool:
        if self.is_gone is not None:
            return self.is_gone()
        if not _watches:
            return False
        if self.shares_silence and outage.silent.is_set():
            return True
        return waited > self.limit + _MARGIN_SECONDS or (waited > _PAUSE_SECONDS and not _probe(self))


class IndependentConnection(WatchedConnection):
    """A connection to a replica, or one that finds out whether the database answers."""

    shares_silence = False


def watch() -> None:
    """Have this process probe a server that statements wait for."""
    global _watches
    _watches = True


def connect_options() -> dict[str, Any]:
    """Return libpq's options that end an attempt to connect in a process that watches the server."""
    return {"connect_timeout": _CONNECT_SECONDS} if _watches else {}


def check() -> None:
    """Raise ServerUnresponsive instead of waiting."""
    if outage.silent.is_set():
        raise ServerUnresponsive


def _probe(opened: WatchedConnection) -> bool:
    """Return whether a server answers; True also while another thread probes it."""
    global _probed_at
    if time.monotonic() - _probed_at < _PAUSE_SECONDS or not _probing.acquire(blocking=False):
        return True
    seconds = max(_CONNECT_SECONDS, round(config.value(SETTING)))
    try:
        psycopg.connect(**opened.parameters | {"connect_timeout": seconds}).close()
    except psycopg.errors.ConnectionTimeout:
        if opened.shares_silence:
            outage.begin_silence(ServerUnresponsive())
        return False
    except psycopg.OperationalError:
        # A server that refuses a connection ends statements itself.
        return True
    finally:
        _probed_at = time.monotonic()
        _probing.release()
    return True
