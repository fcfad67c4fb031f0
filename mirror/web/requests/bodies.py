"""The bodies of requests: one that comes slowly delays no other request.

Granian hands over a request before its body has arrived, and waits for the rest without limit. So bodies are
read before requests wait for their lease.
"""

import io
import threading
import time
from collections.abc import Mapping
from typing import Any

from mirror.core import config, logs
from mirror.core.rest.parameters.bodies import size_to_read
from mirror.web.requests import connections

log = logs.logger("mirror.web")

_CHECK_SECONDS = 0.5
#: The most bodies that a process waits for at a time.
MAX_READERS = 100


class _FailedBody:
    """A body that could not be read: whoever wants it gets the error."""

    def __init__(self, error: OSError) -> None:
        self._error = error

    def read(self, *size: int) -> bytes:
        raise self._error

    readline = read


class Readers:
    """The threads that read a body: at most MAX_READERS of them, none for longer than `seconds`.

    Granian gives a body to no other thread than the one that it has called.
    """

    def __init__(self, seconds: float) -> None:
        self._free = threading.BoundedSemaphore(MAX_READERS)
        self._seconds = seconds
        self._largest = config.value("rest.request.maxBodySize") << 10
        # Thread -> the time it began, and the address of its client.
        self._reading: dict[int, tuple[float, str]] = {}

    def read(self, environment: Mapping[str, Any]) -> Any:
        """Return the body of a request, in place of the one that arrives bit by bit.

        One that is too large is left unread. If too many wait for theirs, it raises TimeoutError when read.
        """
        size = size_to_read(environment, self._largest)
        if not size:
            return io.BytesIO()
        if not self._free.acquire(blocking=False):
            return _FailedBody(TimeoutError("too many requests are waiting for their bodies"))
        try:
            self._reading[threading.get_ident()] = time.monotonic(), environment["REMOTE_ADDR"]
            return io.BytesIO(environment["wsgi.input"].read(size))
        except OSError as error:
            return _FailedBody(error)
        finally:
            self._reading.pop(threading.get_ident(), None)
            self._free.release()

    def check(self) -> float:
        """Close the connections of clients whose bodies are late; a repeated check."""
        began, now = time.thread_time(), time.monotonic()
        late = {client for since, client in list(self._reading.values()) if since < now - self._seconds}
        closed = connections.close_stalled(late, self._seconds) if late else {}
        for client in late:
            log.warning("body_took_too_long", client=client, connections_closed=closed[client])
        return connections.pause(_CHECK_SECONDS, began)
