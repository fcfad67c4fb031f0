"""Slow requests: each has a line in the log with its slowest statements, and with a plan.

The plan is PostgreSQL's, of the statement that took longest. It is queried after the answer has been sent,
by a thread of its own, with a limit of time, and only a few times a minute: a line must not make a slow
database slower.
"""

import inspect
import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple

from mirror.core import logs
from mirror.core.db.availability import outage
from mirror.core.db.reading import bounded_query, plans
from mirror.core.db.reading.statements import Noted, Statement

log = logs.logger("mirror.web")

MOST_PLANS_PER_MINUTE = 5
_PLAN_SECONDS = 0.5
_MOST_STATEMENTS = 3
_MOST_CHARACTERS = 4000
# As many wait for their line; those that come then have none.
_MOST_WAITING = 100


class SlowRequest(NamedTuple):
    """A slow request. Of its seconds from its arrival to its answer, it has waited for its lease for some.

    `size` is that of its answer's body in bytes, 0 if it came in pieces.
    """

    request_id: str
    method: str
    path: str
    client: str
    status: int
    size: int
    seconds: float
    waited: float
    noted: Sequence[Noted]


class SlowRequests:
    """Writes the lines of a process."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[SlowRequest] = queue.Queue(_MOST_WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._planned: deque[float] = deque(maxlen=MOST_PLANS_PER_MINUTE)

    def tell(self, request: SlowRequest) -> None:
        """Have a line written."""
        try:
            self._waiting.put_nowait(request)
        except queue.Full:
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_on, name="slow requests", daemon=True)
                self._thread.start()

    def _write_on(self) -> None:
        while True:
            request = self._waiting.get()
            logs.REQUEST_ID.set(request.request_id)
            try:
                self.write(request)
            except Exception:
                log.exception("unexpected_error")

    def write(self, request: SlowRequest) -> None:
        """Write the line of a request."""
        statements = sorted((Statement(*each) for each in request.noted), key=lambda each: -each.seconds)
        log.warning(
            "slow_request",
            method=request.method,
            path=request.path,
            status=request.status,
            ms=_milliseconds(request.seconds),
            waited_ms=_milliseconds(request.waited),
            bytes=request.size,
            client=request.client,
            statement_count=len(statements),
            statement_ms=_milliseconds(sum(each.seconds for each in statements)),
            statements=[_shown(each) for each in statements[:_MOST_STATEMENTS]],
            plan=self._plan(statements[0]) if statements else None,
        )

    def _plan(self, statement: Statement) -> str | None:
        now = time.monotonic()
        is_full = len(self._planned) == MOST_PLANS_PER_MINUTE
        if statement.values is None or (is_full and now - self._planned[0] < 60):
            return None
        self._planned.append(now)
        try:
            return plans.plan(statement.text, statement.values, seconds=_PLAN_SECONDS)[:_MOST_CHARACTERS]
        except bounded_query.NoAnswer as error:
            return f"not known: {error}"
        except outage.ERRORS as error:
            return f"not known: {outage.reason(error)}"


def _shown(statement: Statement) -> dict[str, Any]:
    shown: dict[str, Any] = {"ms": _milliseconds(statement.seconds)}
    if statement.rows is not None:
        shown["rows"] = statement.rows
    if statement.values is not None:
        shown["parameters"] = ", ".join(plans.literals(statement.values))[:_MOST_CHARACTERS]
    shown["sql"] = inspect.cleandoc(statement.text)[:_MOST_CHARACTERS]
    return shown


def _milliseconds(seconds: float) -> float:
    return round(seconds * 1000, 1)
