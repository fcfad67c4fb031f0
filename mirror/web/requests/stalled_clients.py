"""Clients that stall: one that sends a request slowly, or takes nothing of its answer, delays no other.

Granian waits for headers as long as for a request on an idle connection. It hands over a request before its
body has arrived, waits for the rest without limit, and holds an answer until its client has read it. So
bodies are read before requests wait for their lease. The WSGI environment does not name the socket of a
request, so the kernel tells which sockets these may be.
"""

import io
import socket
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import Any

from mirror.core import config, logs
from mirror.core.rest.parameters.bodies import size_to_read
from mirror.web.sockets import own_sockets

log = logs.logger("mirror.web")

_LOOK_SECONDS, _LOOKS = 0.5, 4
#: The most bodies that a process waits for at a time, and the most answers that it holds back.
MOST_READERS, MOST_PAUSES = 200, 50
# Of tcp_info: the milliseconds since data was sent and since data was received, and how many segments were.
_LAST_SENT, _TRAFFIC = struct.Struct("=44xI"), struct.Struct("=44xI4xI96xII")


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


# HEADERS


class Headers:
    """Connections by which the beginning of a request has come: closed unless the rest comes in `seconds`.

    `arrived` returns when the last request of a client that is not answered yet arrived. It may have come by
    any of the client's connections, so none of those that began to send before then is closed.
    """

    def __init__(self, seconds: float, arrived: Callable[[str], float | None]) -> None:
        self._seconds, self._arrived = seconds, arrived
        # Connection -> when it was first seen with data that no answer has followed.
        self._since: dict[tuple[str, int], float] = {}
        # Their clients send without a request, too.
        self.of_http2: set[str] = set()

    def watch(self) -> None:
        while True:
            time.sleep(self._seconds / _LOOKS)
            self._look(time.monotonic())

    def _look(self, now: float) -> None:
        before, self._since, closed = self._since, {}, Counter[str]()
        for each in own_sockets():
            try:
                client, port = each.getpeername()[:2]
                if client in self.of_http2 or each.getsockname()[1] != config.value("web.port"):
                    continue
                info = each.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _TRAFFIC.size)
                sent_ago, received_ago, received, sent = _TRAFFIC.unpack(info)
                if not received or (sent and received_ago >= sent_ago):
                    continue
                since = self._since[client, port] = before.get((client, port), now)
                arrived = self._arrived(client)
                if now - since >= self._seconds and (arrived is None or arrived < since - self._seconds):
                    each.shutdown(socket.SHUT_RDWR)
                    closed[client] += 1
            except (OSError, struct.error):
                # The socket listens, is no longer connected, or of a kernel that does not count.
                continue
        for client, connections in closed.items():
            log.warning("headers_took_too_long", client=client, connections_closed=connections)


# ANSWERS


def limit_answers(listening: socket.socket) -> None:
    """Have the kernel close connections of clients that take nothing of their answers for a while.

    A connection inherits this when it is made, so it is set before the socket listens.
    """
    milliseconds = int(config.value("web.stalledTimeout") * 1000)
    listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
