"""Clients that stall: one that sends a body slowly, or takes nothing of its answer, holds up nobody else.

Granian gives a thread to a request before its body has arrived, waits for the rest without limit, and keeps
an answer until its client has taken it. So it has many threads, and those that wait let others work. The WSGI
environment does not name the socket of a request, so the kernel is asked which sockets it may be.
"""

import logging
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from mirror import config
from mirror.db.turns import Turns

log = logging.getLogger("mirror.web")

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

_DESCRIPTORS = Path("/proc/self/fd")
_START_SECONDS, _START_LOOK_SECONDS, _LOOK_SECONDS = 60, 0.05, 0.5
#: The most bodies that a process waits for at a time, and the most answers that it holds back.
MOST_READERS, MOST_PAUSES = 200, 50
# The milliseconds since something was sent, in tcp_info.
_LAST_SENT = struct.Struct("=44xI")
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})


def guarded(application: Application) -> Application:
    """Return the application, in which clients that stall take nobody's turn.

    Bodies are read within `web.bodyTimeout`, by threads that have given up their turn meanwhile.
    """
    turns = Turns(config.value("web.threads"))
    pauses = _Pauses(MOST_PAUSES)
    readers = _Readers(MOST_READERS, config.value("web.bodyTimeout"))
    threading.Thread(target=readers.watch, daemon=True).start()
    threading.Thread(target=_limit_answers, daemon=True).start()

    def serve(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        with turns.taken():
            if environ["REQUEST_METHOD"] not in _WITHOUT_BODY:
                environ["wsgi.input"] = _Body(environ["wsgi.input"], readers, turns, environ["REMOTE_ADDR"])
            response = application(environ, start_response)
            if getattr(response, "streaming", False):
                # Its pieces are passed on as fast as the client takes them, without a turn.
                return response
            if isinstance(response, list):
                # An answer of the API.
                return response
            try:
                body = b"".join(response)
            finally:
                response.close()  # type: ignore[attr-defined]
        if seconds := getattr(response, "pause", 0.0):
            pauses.make(seconds)
        return [body]

    return serve


class _Pauses:
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


class _Body:
    """A body of WSGI. Errors of all methods: OSError; TimeoutError while too many wait for their bodies."""

    def __init__(self, body: Any, readers: "_Readers", turns: Turns, client: str) -> None:
        self._body, self._readers, self._turns, self._client = body, readers, turns, client

    def read(self, *size: int) -> bytes:
        with self._readers.counted(self._client), self._turns.left():
            return bytes(self._body.read(*size))

    def readline(self, *size: int) -> bytes:
        with self._readers.counted(self._client), self._turns.left():
            return bytes(self._body.readline(*size))


class _Readers:
    """The threads that read a body: at most `most` of them, none for longer than `seconds`."""

    def __init__(self, most: int, seconds: float) -> None:
        self._free = threading.BoundedSemaphore(most)
        self._seconds = seconds
        # Thread -> the time it began, and the address of its client.
        self._reading: dict[int, tuple[float, str]] = {}

    @contextmanager
    def counted(self, client: str) -> Iterator[None]:
        """Count this thread as reading for the length of the block. Errors: TimeoutError."""
        if not self._free.acquire(blocking=False):
            raise TimeoutError("too many requests are waiting for their bodies")
        try:
            self._reading[threading.get_ident()] = time.monotonic(), client
            yield
        finally:
            self._reading.pop(threading.get_ident(), None)
            self._free.release()

    def watch(self) -> None:
        while True:
            time.sleep(_LOOK_SECONDS)
            overdue = time.monotonic() - self._seconds
            for client in {client for began, client in list(self._reading.values()) if began < overdue}:
                closed = _close_connections(client, self._seconds)
                log.warning("event=body_took_too_long client=%s connections_closed=%d", client, closed)


def _close_connections(client: str, seconds: float) -> int:
    """Close the connections of a client on which nothing was sent for so long; return their number.

    One of them is the one that stalls. The others rest between two requests, or wait for an answer that
    takes as long.
    """
    port, closed = config.value("web.port"), 0
    for each in _own_sockets():
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


def _limit_answers() -> None:
    """Have the kernel close connections of clients that take nothing of their answers for a while.

    Connections inherit this from their listening socket, which granian opens only after the application is
    loaded.
    """
    milliseconds = int(config.value("web.stalledTimeout") * 1000)
    deadline = time.monotonic() + _START_SECONDS
    while not _listening_limited(milliseconds):
        if time.monotonic() > deadline:
            log.warning("event=stalled_connections_not_closed")
            return
        time.sleep(_START_LOOK_SECONDS)


def _listening_limited(milliseconds: int) -> int:
    """Set the limit on every socket that listens; return their number."""
    listening = 0
    for each in _own_sockets():
        if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
            listening += 1
    return listening


def _own_sockets() -> Iterator[socket.socket]:
    """Yield the TCP sockets of this process, each valid until the next one; their owners keep them."""
    for descriptor in list(_DESCRIPTORS.iterdir()):
        try:
            each = socket.socket(fileno=int(descriptor.name))
        except OSError:
            continue
        try:
            if each.family in (socket.AF_INET, socket.AF_INET6) and each.type == socket.SOCK_STREAM:
                yield each
        finally:
            each.detach()
