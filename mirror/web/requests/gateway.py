"""The gateway between granian and the WSGI application: each request is worked on when it is its lease.

Granian calls a WSGI application in a thread of its own, which waits for the answer. Its threads would wait
for leases and disturb those that work. So this takes a request over: the thread answers it if it gets a lease
at once, or else returns, and another thread of `mirror.core.db.scheduling.request_scheduler` answers it. The
gateway meets the deadline of each request:
whatever hangs, its client is answered 503.
"""

import io
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, cast

from granian.server import mp

from mirror.core import config, logs
from mirror.core.db import replicas
from mirror.core.db.availability import unresponsive
from mirror.core.db.reading import statements
from mirror.core.db.scheduling import repeated, request_scheduler
from mirror.core.db.scheduling.connection_lease import Work
from mirror.core.db.scheduling.request_scheduler import RequestScheduler
from mirror.core.db.scheduling.slow_slot import SlowRequestSlot
from mirror.core.metrics import http, sample
from mirror.core.rest.answers.errors import lacks_descriptors
from mirror.core.rest.limits.client_limits import ClientLimits
from mirror.node.health.gauges import Readings
from mirror.web.requests import refusals
from mirror.web.requests.bodies import Readers
from mirror.web.requests.connections import ConnectionLimits, Disconnections, Headers
from mirror.web.requests.expected_cost import ExpectedCost, names
from mirror.web.requests.observer import ENVIRONMENT_ID, REQUEST_ID, UNKNOWN, Observer, Times
from mirror.web.requests.paths import LIVENESS, is_monitoring_path, is_of_api, needs_no_database
from mirror.web.requests.ready_threads import ReadyThreads
from mirror.web.requests.request_history import Minutes
from mirror.web.requests.unread_answers import UnreadAnswers

log = logs.logger("mirror.web")

Application = Callable[[dict[str, Any], Any], Iterable[bytes]]

# How long a thread that computes may hold the interpreter. By default, a slow request would hold up a
# quick one several times for longer than that takes.
_SWITCH_SECONDS = 0.0005
# Limits of requests about the node, which need no lease: those that run at once, and those that run or wait.
_THREADS_ABOUT_THE_NODE, _MAX_ABOUT_THE_NODE = 2, 100
_WITHOUT_BODY = frozenset({"GET", "HEAD", "OPTIONS"})
# Of deadlines. Shorter limits come first: of statements, of calls, of a silent database.
_CHECK_SECONDS, _MARGIN_SECONDS = 0.5, 5.0
# The most answers that a process holds back at a time, to clients that sign in too often.
_pauses = threading.BoundedSemaphore(50)
# How the paths of requests that simulate end.
_CALLS = ("/contracts/call", "/opcodes")
_ENVIRONMENT = {
    "SCRIPT_NAME": "",
    "wsgi.errors": sys.stderr,
    "wsgi.input_terminated": True,
    "wsgi.multiprocess": True,
    "wsgi.multithread": True,
    "wsgi.run_once": False,
    "wsgi.version": (1, 0),
}


def start(
    application: Application,
    slots: Sequence[SlowRequestSlot],
    limits: ClientLimits | None,
    most_connections: int,
) -> Callable[[Any, dict[str, Any]], None]:
    """Return what granian has to call, in a process that takes requests from now on."""
    sys.setswitchinterval(_SWITCH_SECONDS)
    gateway = Gateway(application, slots, limits, config.value("web.threads") + 1)
    scheduler = gateway.scheduler
    sample(http.WAITING.labels("quick"), lambda: scheduler.waiting)
    sample(http.WAITING.labels("slow"), lambda: scheduler.slow_waiting)
    sample(http.WORKING.labels("quick"), lambda: scheduler.in_use(slow=False))
    sample(http.WORKING.labels("slow"), lambda: scheduler.in_use(slow=True))
    repeated.start(gateway.open.check, gateway.readers.check, gateway.headers.check)
    readings = Readings()
    # These must not wait for the others, or wait themselves: for the database, or for other processes.
    alone: list[repeated.Check] = [
        scheduler.check,
        gateway.threads.check,
        Disconnections(scheduler).check,
        ConnectionLimits(most_connections).check,
        *(partial(scheduler.serve_slot, slot) for slot in slots),
        Minutes().record,
        readings.report,
        readings.read_sizes,
        partial(unresponsive.probe, gateway.open.older_than),
        *replicas.checks(gateway.open.older_than),
    ]
    for check in alone:
        repeated.start(check)
    # Granian's own wrapper would answer in the thread that it calls.
    assert hasattr(mp, "_wsgi_call_wrap")
    mp._wsgi_call_wrap = lambda called, *_: called
    return gateway


class Gateway:
    """Takes requests from granian: `ready` of its threads do, or all if that is 0, which work on none."""

    def __init__(
        self,
        application: Application,
        slots: Sequence[SlowRequestSlot],
        limits: ClientLimits | None = None,
        ready: int = 0,
    ) -> None:
        self.application = application
        self._at_once = getattr(application, "at_once", None)
        slow_after, body_seconds = config.value("web.slowAfter"), config.value("web.bodyTimeout")
        self._expected = ExpectedCost(slow_after)
        self.scheduler = RequestScheduler(config.value("web.threads"), slots, slow_after, self._ended)
        self.readers = Readers(body_seconds)
        self.observer = Observer()
        self.open = OpenExchanges()
        self.unread = UnreadAnswers(config.value("web.maxUnreadBytes") << 20)
        self.threads = ReadyThreads(ready)
        self.headers = Headers(body_seconds, self.open.last_arrival)
        self._limits = limits
        self._most_waiting: int = config.value("web.maxWaiting")
        self._monitoring = _SeparateThreads(_THREADS_ABOUT_THE_NODE)
        # Readiness may have to wait for the database, and whoever waits too long for this one ends the node.
        self._alive = _SeparateThreads(1)
        self._pages = _SeparateThreads(1)

    def __call__(self, protocol: Any, environment: dict[str, Any]) -> None:
        self.threads.begin()
        try:
            self._take(protocol, environment)
        finally:
            self.threads.end()

    def _take(self, protocol: Any, environment: dict[str, Any]) -> None:
        arrived, path = time.monotonic(), environment["PATH_INFO"]
        request_id = self.observer.begin(environment)
        # What every answer to the request has.
        common = [(REQUEST_ID, request_id)]
        refuse = partial(self.refuse, protocol, environment, common=common, arrived=arrived)
        if (refusal := refusals.host_problem(environment)) is not None:
            refuse(refusal)
            return
        is_limited = is_of_api(path) and environment["REQUEST_METHOD"] != "OPTIONS"
        if self._limits is not None and is_limited and (verdict := self._limits.verdict(environment)):
            common += self._limits.headers(verdict)
            if verdict.wait_seconds:
                refuse(refusals.too_many(path, verdict.wait_seconds))
                return
        is_short = environment["REQUEST_METHOD"] in _WITHOUT_BODY
        if is_short and self._at_once is not None and (cached := self._at_once(environment)):
            headers, body = cached
            self.unread.add(environment["REMOTE_ADDR"], len(body))
            protocol.response_bytes(200, [*headers.items(), *common], body)
            self.observer.end(environment, 200, Times(arrived), len(body))
            return
        apart = self._separate_threads(environment)
        if self.scheduler.waiting >= self._most_waiting and apart is None:
            refuse(refusals.busy(path))
            return
        if is_short:
            # Granian's body, while there is one, holds up the next request of its connection.
            environment["wsgi.input"] = io.BytesIO()
        else:
            self.threads.hand_over()
            environment["wsgi.input"] = self.readers.read(environment)
        exchange = Exchange(self, protocol, environment, common)
        self.open[exchange] = None
        if apart is None:
            is_slow = exchange.names is not None and self._expected.is_slow(exchange.names)
            is_quick = is_short and not is_slow and self.threads.may_work
            if not (is_quick and self.scheduler.work_here(exchange)):
                self.scheduler.submit(exchange, slow=is_slow)
        elif not apart.submit(exchange):
            self.open.discard(exchange)
            refuse(refusals.busy(path))

    def _separate_threads(self, environment: dict[str, Any]) -> "_SeparateThreads | None":
        """Return the threads that answer a request without a lease."""
        path: str = environment["PATH_INFO"]
        if is_monitoring_path(path):
            return self._alive if path == LIVENESS else self._monitoring
        is_preflight = environment["REQUEST_METHOD"] == "OPTIONS" and is_of_api(path)
        if needs_no_database(path) or is_preflight or self.observer.route(path) == UNKNOWN:
            return self._pages
        return None

    def refuse(
        self,
        protocol: Any,
        environment: dict[str, Any],
        refusal: refusals.Answer,
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
        self._slots = threading.BoundedSemaphore(_MAX_ABOUT_THE_NODE)
        self._threads = ThreadPoolExecutor(threads, "about the node", request_scheduler.work_without_lease)

    def submit(self, exchange: "Exchange") -> bool:
        """Have a request answered, and return True; False if too many wait for that."""
        if not self._slots.acquire(blocking=False):
            return False
        answered = self._threads.submit(exchange)
        answered.add_done_callback(lambda _: self._slots.release())
        return True


# REQUESTS


class Exchange:
    """A request, and granian's object that takes its answer. Calling it answers.

    `common` are the headers that every answer has.
    """

    __slots__ = (
        "_claims",
        "_gateway",
        "_protocol",
        "_ready",
        "_size",
        "_status",
        "arrived",
        "client",
        "common",
        "environment",
        "has_answered",
        "names",
    )

    def __init__(
        self, gateway: Gateway, protocol: Any, environment: dict[str, Any], common: refusals.Headers
    ) -> None:
        self._gateway, self._protocol = gateway, protocol
        self.environment, self.common = environment, common
        self._status: tuple[int, refusals.Headers] = (500, common)
        # Popped by the one who answers: this, or the check of deadlines.
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
        #: What may be known of requests like this one; nothing of pages for people.
        self.names = names(path, environment.get("QUERY_STRING", "")) if is_of_api(path) else None

    @property
    def deadline_seconds(self) -> float:
        if self.environment["PATH_INFO"].endswith(_CALLS):
            # A call may wait as long for the start of its process.
            return float(2 * config.value("web3.requestTimeout") + _MARGIN_SECONDS)
        # A slow request may wait for others as long as a statement, and then be such a statement itself.
        return float(2 * config.value("rest.db.statementTimeout") + _MARGIN_SECONDS)

    def __call__(self) -> None:
        if not self._claims:
            return
        began = time.monotonic()
        self._gateway.threads.proceed(began)
        logs.REQUEST_ID.set(self.environment[ENVIRONMENT_ID])
        statements.begin()
        try:
            self._answer()
        except Exception as error:
            path = self.environment["PATH_INFO"]
            log.error("unexpected_error", path=path, exc_info=True)
            status, headers, body = refusals.busy(path) if lacks_descriptors(error) else (500, [], b"")
            self._status = (status, [*headers, *self.common])
            self._send(body)
        finally:
            self._gateway.open.discard(self)
        noted = statements.end()
        if self.has_answered:
            times = Times(self.arrived, began, self._ready)
            self._gateway.observer.end(self.environment, self._status[0], times, self._size, noted)
        logs.REQUEST_ID.set(None)

    def _answer(self) -> None:
        self.environment.update(_ENVIRONMENT)
        response: Any = self._gateway.application(self.environment, self._start)
        if isinstance(response, list):
            # An answer of the API.
            self._send(b"".join(response))
            return
        if getattr(response, "streaming", False):
            # Its pieces are passed on as fast as the client takes them.
            request_scheduler.release()
            self._size, self._ready = None, time.monotonic()
            self.has_answered = self._claim()
            if self.has_answered:
                self._protocol.response_iter(*self._status, _Chunks(response, self))
            else:
                response.close()
            return
        try:
            body = b"".join(response)
        finally:
            response.close()
        if seconds := getattr(response, "pause", 0.0):
            request_scheduler.release()
            self._ready = time.monotonic()
            if _pauses.acquire(blocking=False):
                time.sleep(seconds)
                _pauses.release()
        self._send(body)

    def _start(self, status: str, headers: refusals.Headers, *_: Any) -> None:
        self._status = int(status[:3]), [*headers, *self.common]

    def _send(self, body: bytes) -> None:
        self.has_answered = self._claim()
        if self.has_answered:
            self._size = len(body)
            self._gateway.unread.add(self.client, len(body))
            self._protocol.response_bytes(*self._status, body)

    def _claim(self) -> bool:
        """Return whether the request is still to be answered, which the caller has to do then."""
        try:
            return self._claims.pop()
        except IndexError:
            return False

    def sent(self, size: int) -> None:
        """Log a body whose last piece is sent."""
        self._gateway.observer.sent(self.environment, self._status[0], self.arrived, size)

    def end_overdue(self) -> bool:
        """Answer 503 in place of the thread that works on the request, which ends, or never came to it.

        False if an answer has begun.
        """
        if not self._claim():
            return False
        refusal = refusals.overdue(self.environment["PATH_INFO"])
        self._gateway.refuse(self._protocol, self.environment, refusal, self.common, self.arrived)
        self._gateway.scheduler.terminate(self)
        return True


class _Chunks:
    """The pieces of a streaming response, which granian closes after the last one."""

    def __init__(self, response: Any, exchange: Exchange) -> None:
        self._response, self._exchange, self._size = response, exchange, 0
        self._chunks: Iterator[bytes] = iter(response)

    def __next__(self) -> bytes:
        chunk = next(self._chunks)
        self._size += len(chunk)
        return chunk

    def close(self) -> None:
        self._response.close()
        self._exchange.sent(self._size)


class OpenExchanges(dict[Exchange, None]):
    """The requests of a process that are not answered yet, in the order in which they have come."""

    def discard(self, exchange: Exchange) -> None:
        self.pop(exchange, None)

    def older_than(self, seconds: float) -> list[Exchange]:
        """Return the requests that have not been answered for so long."""
        arrived = time.monotonic() - seconds
        return [each for each in list(self) if each.arrived <= arrived]

    def last_arrival(self, client: str) -> float | None:
        return max((each.arrived for each in list(self) if each.client == client), default=None)

    def check(self) -> float:
        """Refuse requests at their deadline; a repeated check."""
        for exchange in self.older_than(_MARGIN_SECONDS):
            seconds = exchange.deadline_seconds
            if time.monotonic() - exchange.arrived >= seconds:
                self.discard(exchange)
                if exchange.end_overdue():
                    log.error("request_overdue", seconds=round(seconds))
        return _CHECK_SECONDS
