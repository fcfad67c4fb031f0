"""The gateway between granian and the WSGI application: each request is worked on when it is its lease.

Granian calls a WSGI application in a thread of its own, which waits for the answer. Its threads would wait
for leases and disturb those that work, so this takes a request over and returns at once; a thread of
`mirror.core.db.scheduling.request_scheduler` answers it.
"""

import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

from granian.server import mp

from mirror.core import config, logs
from mirror.core.db.availability import silence
from mirror.core.db.reading import statements
from mirror.core.db.replicas import watching
from mirror.core.db.scheduling import request_scheduler as scheduler
from mirror.core.db.scheduling.connection_lease import Work
from mirror.core.db.scheduling.request_scheduler import RequestScheduler
from mirror.core.db.scheduling.slow_slot import SlowRequestSlot
from mirror.core.metrics import http
from mirror.web.requests import deadlines, disconnected_clients, refusals, stalled_clients
from mirror.web.requests.expected_cost import Expected, names
from mirror.web.requests.observer import ENVIRONMENT_ID, REQUEST_ID, UNKNOWN, Observer, Times
from mirror.web.requests.paths import LIVENESS, is_about_the_node, is_of_api, needs_no_database
from mirror.web.requests.rate_limits import Limiter
from mirror.web.requests.request_history import Minutes

log = logs.logger("mirror.web")

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

_PAUSE_SECONDS = 1.0
# How long a thread that computes may hold the interpreter. By default, a slow request would hold up a
# quick one several times for longer than that takes.
_SWITCH_SECONDS = 0.0005
# Requests about the node are answered without leases, on connections of their own: so many at once, and
# so many running or waiting.
_THREADS_ABOUT_THE_NODE = 2
_MOST_ABOUT_THE_NODE = 100
# How the paths of requests that simulate end.
_CALLS = ("/contracts/call", "/opcodes")
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
_ENVIRONMENT = {
    "SCRIPT_NAME": "",
    "wsgi.errors": sys.stderr,
    "wsgi.input_terminated": True,
    "wsgi.multiprocess": True,
    "wsgi.multithread": True,
    "wsgi.run_once": False,
    "wsgi.version": (1, 0),
}


def started(
    application: Application, slots: Sequence[SlowRequestSlot], limits: int | None = None
) -> Callable[[Any, dict[str, Any]], None]:
    """Return what granian has to call, in a process that takes requests from now on.

    `limits` is the memory for the limits of clients, if they have any.
    """
    sys.setswitchinterval(_SWITCH_SECONDS)
    gateway = Gateway(application, slots, limits)
    _show(gateway.scheduler)
    for watch in (
        *(partial(gateway.scheduler.serve_slot, slot) for slot in slots),
        gateway.scheduler.watch,
        gateway.readers.watch,
        gateway.headers.watch,
        gateway.deadlines.watch,
        disconnected_clients.Watch(gateway.scheduler).watch,
        Minutes().record,
        partial(silence.watch, gateway.deadlines.has),
        *watching.watches(),
    ):
        threading.Thread(target=_run_for_ever, args=(watch,), daemon=True).start()
    # Granian's own wrapper would answer in the thread that it calls.
    assert hasattr(mp, "_wsgi_call_wrap")
    mp._wsgi_call_wrap = lambda called, *_: called
    return gateway


def _show(scheduler: RequestScheduler) -> None:
    """Have metrics tell of the requests at work and of those that wait."""
    http.WAITING.read_from(lambda: scheduler.waiting, "quick")
    http.WAITING.read_from(lambda: scheduler.slow_waiting, "slow")
    http.WORKING.read_from(lambda: scheduler.in_use(slow=False), "quick")
    http.WORKING.read_from(lambda: scheduler.in_use(slow=True), "slow")


def _run_for_ever(watch: Callable[[], None]) -> None:
    """Continue after any error: without file descriptors left, sockets can't be listed for a while."""
    while True:
        try:
            return watch()
        except Exception:
            log.error("unexpected_error", exc_info=True)
            time.sleep(_PAUSE_SECONDS)


class Gateway:
    """Takes requests from granian."""

    def __init__(
        self, application: Application, slots: Sequence[SlowRequestSlot], limits: int | None = None
    ) -> None:
        self.application = application
        self._at_once = getattr(application, "at_once", None)
        slow_after = config.value("web.slowAfter")
        self._expected = Expected(slow_after)
        self.scheduler = RequestScheduler(config.value("web.threads"), slots, slow_after, self._ended)
        self.readers = stalled_clients.Readers(stalled_clients.MOST_READERS, config.value("web.bodyTimeout"))
        self.pauses = stalled_clients.Pauses(stalled_clients.MOST_PAUSES)
        self.observer = Observer()
        self.deadlines = deadlines.Deadlines()
        self.headers = stalled_clients.Headers(config.value("web.bodyTimeout"), self.deadlines.last_of)
        self._limiter = None if limits is None else Limiter(limits)
        self._most_waiting: int = config.value("web.maxWaiting")
        self._about_the_node = _SeparateThreads(_THREADS_ABOUT_THE_NODE)
        # Readiness may have to wait for the database, and whoever waits too long for this one ends the node.
        self._alive = _SeparateThreads(1)
        self._pages = _SeparateThreads(1)

    def __call__(self, protocol: Any, environment: dict[str, Any]) -> None:
        arrived, path = time.monotonic(), environment["PATH_INFO"]
        request_id = self.observer.begin(environment)
        if environment["SERVER_PROTOCOL"] == "HTTP/2":
            self.headers.of_http2.add(environment["REMOTE_ADDR"])
        # What every answer to the request has.
        common = [(REQUEST_ID, request_id)]
        if (refusal := refusals.host_problem(environment)) is not None:
            self.refuse(protocol, environment, refusal, common, arrived)
            return
        if self._limiter is not None and (verdict := self._limiter.verdict(environment)) is not None:
            common += self._limiter.limits.headers(verdict)
            if not verdict.admitted:
                refusal = refusals.too_many(path, verdict.retry_seconds)
                self.refuse(protocol, environment, refusal, common, arrived)
                return
        is_short = environment["REQUEST_METHOD"] in _WITHOUT_BODY
        if is_short and self._at_once is not None and (cached := self._at_once(environment)):
            headers, body = cached
            protocol.response_bytes(200, [*headers.items(), *common], body)
            self.observer.end(environment, 200, Times(arrived), len(body))
            return
        apart = self._apart(environment)
        if self.scheduler.waiting >= self._most_waiting and apart is None:
            self.refuse(protocol, environment, refusals.busy(path), common, arrived)
            return
        if not is_short:
            environment["wsgi.input"] = self.readers.read(environment)
        exchange = Exchange(self, protocol, environment, common)
        self.deadlines.add(exchange)
        if apart is not None:
            if not apart.submit(exchange):
                self.deadlines.discard(exchange)
                self.refuse(protocol, environment, refusals.busy(path), common, arrived)
            return
        is_slow = exchange.names is not None and self._expected.is_slow(exchange.names)
        self.scheduler.submit(exchange, slow=is_slow)

    def _apart(self, environment: dict[str, Any]) -> "_SeparateThreads | None":
        """Return the threads that answer a request without a lease."""
        path: str = environment["PATH_INFO"]
        if is_about_the_node(path):
            return self._alive if path == LIVENESS else self._about_the_node
        is_preflight = environment["REQUEST_METHOD"] == "OPTIONS" and is_of_api(path)
        if needs_no_database(path) or is_preflight or self.observer.route(path) == UNKNOWN:
            return self._pages
        return None

    def refuse(
        self,
        protocol: Any,
        environment: dict[str, Any],
        refusal: tuple[int, refusals.Headers, bytes],
        common: refusals.Headers,
        arrived: float,
    ) -> None:
        status, headers, body = refusal
        protocol.response_bytes(status, [*headers, *common], body)
        self.observer.end(environment, status, Times(arrived), len(body))

    def _ended(self, work: Work, seconds: float) -> None:
        exchange = cast(Exchange, work)
        if exchange.names is not None and exchange.has_answered:
            self._expected.note(exchange.names, seconds)


class _SeparateThreads:
    """Threads for requests that need no lease."""

    def __init__(self, threads: int) -> None:
        self._places = threading.BoundedSemaphore(_MOST_ABOUT_THE_NODE)
        self._threads = ThreadPoolExecutor(threads, "about the node", scheduler.need_none)

    def submit(self, exchange: "Exchange") -> bool:
        """Have a request answered, and return True; False if too many wait for that."""
        if not self._places.acquire(blocking=False):
            return False
        answered = self._threads.submit(exchange)
        answered.add_done_callback(lambda _: self._places.release())
        return True


class Exchange:
    """A request, and granian's object that takes its answer. Calling it answers."""

    __slots__ = (
        "_claims",
        "_common",
        "_gateway",
        "_protocol",
        "_ready",
        "_size",
        "_status",
        "client",
        "arrived",
        "environment",
        "has_answered",
        "is_call",
        "names",
    )

    def __init__(
        self, gateway: Gateway, protocol: Any, environment: dict[str, Any], common: refusals.Headers
    ) -> None:
        self._gateway, self._protocol, self.environment = gateway, protocol, environment
        # The headers that every answer has.
        self._common = common
        self._status: tuple[int, list[tuple[str, str]]] = (500, [])
        # Popped by the one who answers: this, or the watch of deadlines.
        self._claims = [True]
        #: Whether this has answered.
        self.has_answered = False
        # Of the body; None once it comes in pieces.
        self._size: int | None = 0
        # When the answer was ready, if its client did not get it at once.
        self._ready: float | None = None
        #: The time of `time.monotonic` at which the request, with its body, has arrived.
        self.arrived = time.monotonic()
        self.client: str = environment["REMOTE_ADDR"]
        path: str = environment["PATH_INFO"]
        self.is_call = path.endswith(_CALLS)
        #: What may be known of requests like this one; nothing of pages for people.
        self.names = names(path, environment.get("QUERY_STRING", "")) if is_of_api(path) else None

    def __call__(self) -> None:
        if not self._claims:
            return
        began = time.monotonic()
        logs.REQUEST_ID.set(self.environment[ENVIRONMENT_ID])
        statements.begin()
        try:
            self._answer()
        except Exception:
            log.error("unexpected_error", path=self.environment["PATH_INFO"], exc_info=True)
            self._status = (500, self._common)
            self._send(b"")
        finally:
            self._gateway.deadlines.discard(self)
        noted = statements.end()
        if self.has_answered:
            times = Times(self.arrived, began, self._ready)
            self._gateway.observer.end(self.environment, self._status[0], times, self._size, noted)
        logs.REQUEST_ID.set(None)

    def _answer(self) -> None:
        gateway, environment = self._gateway, self.environment
        environment.update(_ENVIRONMENT)
        response: Any = gateway.application(environment, self._start)
        if isinstance(response, list):
            # An answer of the API.
            self._send(b"".join(response))
            return
        if getattr(response, "streaming", False):
            # Its pieces are passed on as fast as the client takes them.
            scheduler.end()
            self._size, self._ready = None, time.monotonic()
            self.has_answered = self._claim()
            if not self.has_answered:
                response.close()
                return
            self._protocol.response_iter(*self._status, _Pieces(response, self._sent))
            return
        try:
            body = b"".join(response)
        finally:
            response.close()
        if seconds := getattr(response, "pause", 0.0):
            scheduler.end()
            self._ready = time.monotonic()
            gateway.pauses.make(seconds)
        self._send(body)

    def _send(self, body: bytes) -> None:
        self.has_answered = self._claim()
        if self.has_answered:
            self._size = len(body)
            self._protocol.response_bytes(*self._status, body)

    def _claim(self) -> bool:
        """Return whether the request is still to be answered, which the caller has to do then."""
        try:
            return self._claims.pop()
        except IndexError:
            return False

    def refuse(self) -> bool:
        """Answer 503 in place of the thread that works on the request, which ends, or never came to it."""
        if not self._claim():
            return False
        refusal = refusals.overdue(self.environment["PATH_INFO"])
        self._gateway.refuse(self._protocol, self.environment, refusal, self._common, self.arrived)
        self._gateway.scheduler.shut(self)
        return True

    def _sent(self, size: int) -> None:
        """Tell of a body whose last piece is sent."""
        self._gateway.observer.sent(self.environment, self._status[0], self.arrived, size)

    def _start(self, status: str, headers: list[tuple[str, str]], *_: Any) -> None:
        self._status = int(status[:3]), [*headers, *self._common]


class _Pieces:
    """The pieces of a streaming response, which granian closes after the last one."""

    def __init__(self, response: Any, sent: Callable[[int], None]) -> None:
        self._response, self._sent, self._size = response, sent, 0
        self._pieces: Iterator[bytes] = iter(response)

    def __next__(self) -> bytes:
        piece = next(self._pieces)
        self._size += len(piece)
        return piece

    def close(self) -> None:
        self._response.close()
        self._sent(self._size)
