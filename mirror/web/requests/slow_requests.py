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
from typing import Any

from mirror.core import logs
from mirror.core.db.availability import bounded_query, outage
from mirror.core.db.reading import plans
from mirror.core.db.reading.statements import Noted, Statement

log = logs.logger("mirror.web")

MAX_PLANS_PER_MINUTE = 5
_PLAN_SECONDS = 0.5
_MAX_STATEMENTS = 3
_MAX_CHARACTERS = 4000
# As many wait for their line; those that come then have none.
_MAX_WAITING = 100


class SlowRequests:
    """Writes the lines of a process."""

    def __init__(self) -> None:
        self._waiting: queue.Queue[tuple[Sequence[Noted], dict[str, Any]]] = queue.Queue(_MAX_WAITING)
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._planned: deque[float] = deque(maxlen=MAX_PLANS_PER_MINUTE)

    def enqueue(self, noted: Sequence[Noted], **keys: Any) -> None:
        """Have the line of a request with these statements written."""
        try:
            self._waiting.put_nowait((noted, keys))
        except queue.Full:
            return
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(target=self._write_loop, name="slow requests", daemon=True)
                self._thread.start()

    def _write_loop(self) -> None:
        while True:
            noted, keys = self._waiting.get()
            try:
                self.write(noted, **keys)
            except Exception:
                log.exception("unexpected_error")

    def write(self, noted: Sequence[Noted], request_id: str, **keys: Any) -> None:
        logs.REQUEST_ID.set(request_id)
        statements = sorted((Statement(*each) for each in noted), key=lambda each: -each.seconds)
        log.warning(
            "slow_request",
            method=keys["method"],
            path=keys["path"],
            status=keys["status"],
            ms=keys["ms"],
            waited_ms=keys["waited_ms"],
            bytes=keys["bytes"],
            client=keys["client"],
            statement_count=len(statements),
            statement_ms=milliseconds(sum(each.seconds for each in statements)),
            statements=[_shown(each) for each in statements[:_MAX_STATEMENTS]],
            plan=self._plan(statements[0]) if statements else None,
        )

    def _plan(self, statement: Statement) -> str | None:
        now = time.monotonic()
        is_full = len(self._planned) == MAX_PLANS_PER_MINUTE
        if statement.values is None or (is_full and now - self._planned[0] < 60):
            return None
        self._planned.append(now)
        try:
            return plans.plan(statement.text, statement.values, seconds=_PLAN_SECONDS)[:_MAX_CHARACTERS]
        except bounded_query.QueryTimeout as error:
            return f"not known: {error}"
        except outage.ERRORS as error:
            return f"not known: {outage.reason(error)}"


def _shown(statement: Statement) -> dict[str, Any]:
    shown: dict[str, Any] = {"ms": milliseconds(statement.seconds)}
    if statement.rows is not None:
        shown["rows"] = statement.rows
    if statement.values is not None:
        shown["parameters"] = ", ".join(plans.literals(statement.values))[:_MAX_CHARACTERS]
    shown["sql"] = inspect.cleandoc(statement.text)[:_MAX_CHARACTERS]
    return shown


def milliseconds(seconds: float) -> float:
    """Return a time as lines have it."""
    return round(seconds * 1000, 1)
