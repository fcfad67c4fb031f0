"""Clients that stall: one that sends a body slowly, or takes nothing of its answer, holds up nobody else.

Granian hands over a request before its body has arrived, waits for the rest without limit, and keeps an
answer until its client has taken it. So bodies are read before requests wait for their turn. The WSGI
environment does not name the socket of a request, so the kernel is asked which sockets it may be.
"""

import io
import socket
import struct
import threading
import time
from collections.abc import Mapping
from typing import Any

from mirror import config, logs
from mirror.node.web.sockets import own_sockets
from mirror.rest.parameters.bodies import size_to_read

log = logs.logger("mirror.web")

_LOOK_SECONDS = 0.5
#: The most bodies that a process waits for at a time, and the most answers that it holds back.
MOST_READERS, MOST_PAUSES = 200, 50
# The milliseconds since something was sent, in tcp_info.
_LAST_SENT = struct.Struct("=44xI")


class Pauses:
    """Pauses before answers to clients that ask too often: at most so many at a time."""

    def __init__(self, most: int) -> None:
        self._free = threading.BoundedSemaphore(most)

    def make(self, seconds: float) -> None:
        if self._free.acquire(blocking=False):
            try:
                time.sleep(seconds)
            finally:
                self._free.release()


# BODIES


class _Unread:
    """A body that could not be read: whoever wants it gets the error."""

    def __init__(self, error: OSError) -> None:
        self._error = error

    def read(self, *size: int) -> bytes:
        raise self._error

    readline = read


class Readers:
    """The threads that read a body: at most `most` of them, none for longer than `seconds`.

    Granian gives a body to no other thread than the one that it has called.
    """

    def __init__(self, most: int, seconds: float) -> None:
        self._free = threading.BoundedSemaphore(most)
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
            return _Unread(TimeoutError("too many requests are waiting for their bodies"))
        try:
            self._reading[threading.get_ident()] = time.monotonic(), environment["REMOTE_ADDR"]
            return io.BytesIO(environment["wsgi.input"].read(size))
        except OSError as error:
            return _Unread(error)
        finally:
            self._reading.pop(threading.get_ident(), None)
            self._free.release()

    def watch(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            overdue = time.monotonic() - self._seconds
            for client in {client for began, client in list(self._reading.values()) if began < overdue}:
                closed = _close_connections(client, self._seconds)
                log.warning("body_took_too_long", client=client, connections_closed=closed)


def _close_connections(client: str, seconds: float) -> int:
    """Close the connections of a client on which nothing was sent for so long; return their number.

    One of them is the one that stalls. The others rest between two requests, or wait for an answer that
    takes as long.
    """
    port, closed = config.value("web.port"), 0
    for each in own_sockets():
        try:
            if each.getsockname()[1] != port or each.getpeername()[0] != client:
                continue
            info = each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _LAST_SENT.size)
            if _LAST_SENT.unpack(info)[0] >= seconds * 1000:
                each.shutdown(socket.SHUT_RDWR)
                closed += 1
        except OSError:
            # The socket listens, or is no longer connected.
            continue
    return closed


# ANSWERS


def limit_answers(listening: socket.socket) -> None:
    """Have the kernel close connections of clients that take nothing of their answers for a while.

    A connection inherits this when it is made, so it is set before the socket listens.
    """
    milliseconds = int(config.value("web.stalledTimeout") * 1000)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
