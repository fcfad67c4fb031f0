"""Clients that stall: who sends the body of a request slowly, or takes nothing of an answer, holds up nobody.

Granian gives a thread to a request before its body is there, waits for the rest without end, and keeps an
answer until its client has taken it. So it has many threads, and those that wait let others work. The WSGI
environment does not say which socket a request came by, so the kernel is asked which ones may be meant.
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
#: Most bodies that a process waits for at a time, and most answers that it holds back.
MOST_READERS, MOST_PAUSES = 200, 50
# Where tcp_info has the milliseconds since something was sent.
_LAST_SENT = struct.Struct("=44xI")
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})


def guarded(application: Application) -> Application:
    """The application, in which clients that stall take nobody's turn.

    Bodies are read within `web.bodyTimeout`, by threads that have given up their turn for the time.
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
            try:
                body = b"".join(response)
            finally:
                response.close()  # type: ignore[attr-defined]
        if seconds := getattr(response, "pause", 0.0):
            pauses.make(seconds)
        return [body]

    return serve


class _Pauses:
    """Answers that wait a while before they are sent, since their clients ask too often: at most so many."""

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
    """A body of WSGI. Errors of all methods: OSError, of them TimeoutError while too many wait for theirs."""

    def __init__(self, body: Any, readers: "_Readers", turns: Turns, client: str) -> None:
        self._body, self._readers, self._turns, self._client = body, readers, turns, client

    def read(self, *size: int) -> bytes:
        with self._readers.one_more(self._client), self._turns.left():
            return bytes(self._body.read(*size))

    def readline(self, *size: int) -> bytes:
        with self._readers.one_more(self._client), self._turns.left():
            return bytes(self._body.readline(*size))


class _Readers:
    """The threads that read a body: at most so many, none for longer than it may."""

    def __init__(self, most: int, seconds: float) -> None:
        self._free = threading.BoundedSemaphore(most)
        self._seconds = seconds
        # Thread -> when it began, and the address of its client.
        self._reading: dict[int, tuple[float, str]] = {}

    @contextmanager
    def one_more(self, client: str) -> Iterator[None]:
        """While this thread reads. Errors: TimeoutError."""
        if not self._free.acquire(blocking=False):
            raise TimeoutError("all threads that may wait for bodies do")
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
    """Close those connections of a client by which nothing was sent for so long, and count them.

    One of them is meant; the others rest between two requests, or wait for an answer that takes as long.
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
            # It listens, or is no longer connected.
            continue
    return closed


# ANSWERS


def _limit_answers() -> None:
    """Have the kernel close connections of clients that take nothing of their answers for a while.

    Granian begins to listen only after the application is loaded; connections inherit the options of their
    listening socket.
    """
    milliseconds = int(config.value("web.stalledTimeout") * 1000)
    deadline = time.monotonic() + _START_SECONDS
    while not _listening_limited(milliseconds):
        if time.monotonic() > deadline:
            log.warning("event=stalled_connections_not_closed")
            return
        time.sleep(_START_LOOK_SECONDS)


def _listening_limited(milliseconds: int) -> int:
    """How many sockets listen, and have the limit now."""
    found = 0
    for each in _own_sockets():
        if each.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN):
            each.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, milliseconds)
            found += 1
    return found


def _own_sockets() -> Iterator[socket.socket]:
    """The TCP sockets of this process, each until the next one: they stay their owners'."""
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
