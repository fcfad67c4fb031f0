"""What is counted and logged of each request, and the id by which an answer and the log name it.

A client or proxy may give the id as X-Request-Id; else the node makes one. The answer has it in either case.
"""

import itertools
import math
import re
import secrets
import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from django.urls import Resolver404

from mirror.core import config
from mirror.core.config import reverse_proxies
from mirror.core.db.reading.statements import Noted
from mirror.core.logs import access
from mirror.core.metrics import http
from mirror.core.rest.routes import PREFIX
from mirror.web.requests.paths import api_routes
from mirror.web.requests.slow_requests import SlowRequests, milliseconds

REQUEST_ID = "x-request-id"
#: The member of a WSGI environment that has the id.
ENVIRONMENT_ID = "mirror.request_id"
UNKNOWN = "unknown"

_GIVEN = "HTTP_X_REQUEST_ID"
_USABLE = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_API = f"/{PREFIX}"
# Pages are counted together by the first part of their path.
_PAGES = frozenset({"admin", "docs", "health"})
_FILES = frozenset({"/", "/metrics", "/robots.txt", "/favicon.ico", "/favicon.svg"})
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST"})
_MAX_NAMES = 4000
# No longer path is remembered: anybody may send thousands of them.
_MAX_NAMED = 200


class Times(NamedTuple):
    """When a request arrived, its lease began, and its answer was ready, if not now; by `time.monotonic`."""

    arrived: float
    began: float | None = None
    ready: float | None = None


class Observer:
    """Observes the requests of a web server process."""

    def __init__(self) -> None:
        # Path -> the documented path.
        self._names: dict[str, str] = {}
        self._prefix, self._numbers = secrets.token_hex(6), itertools.count(1)
        self._log_access = access.log()
        self._slow_after: float = config.value("logging.slowRequest") or math.inf
        self._slow = SlowRequests()

    def begin(self, environment: dict[str, Any]) -> str:
        """Return the id of a request, and note it in its environment."""
        supplied = environment.get(_GIVEN)
        if supplied is not None and _USABLE.fullmatch(supplied):
            name: str = supplied
        else:
            name = f"{self._prefix}-{next(self._numbers):x}"
        environment[ENVIRONMENT_ID] = name
        return name

    def end(
        self,
        environment: Mapping[str, Any],
        status: int,
        times: Times,
        size: int | None = 0,
        noted: Sequence[Noted] = (),
    ) -> None:
        """Count an answer, and log it. `size` is that of its body, None if that follows."""
        arrived, began, ready = times
        now, method = ready or time.monotonic(), environment["REQUEST_METHOD"]
        route = self.route(environment["PATH_INFO"])
        if (400 <= status < 500 or status == 503) and route.startswith(_API):
            # By their paths, they would make /metrics several times as large.
            route = _API
        known = method if method in _METHODS else "other"
        http.REQUESTS.labels(route, known, status).observe(now - arrived)
        if self._log_access is not None and size is not None:
            self.sent(environment, status, arrived, size, noted)
        if began is not None and now - began >= self._slow_after:
            self._slow.enqueue(
                noted,
                request_id=environment[ENVIRONMENT_ID],
                method=method,
                path=_request_target(environment),
                status=status,
                # From its arrival to its answer, and how much of that it has waited for its lease.
                ms=milliseconds(now - arrived),
                waited_ms=milliseconds(began - arrived),
                bytes=size or 0,
                client=reverse_proxies.client(environment),
            )

    def sent(
        self,
        environment: Mapping[str, Any],
        status: int,
        arrived: float,
        size: int,
        noted: Sequence[Noted] = (),
    ) -> None:
        """Log an answer whose body of `size` bytes has been sent."""
        if self._log_access is None:
            return
        self._log_access(
            environment["REQUEST_METHOD"],
            _request_target(environment),
            status,
            round((time.monotonic() - arrived) * 1000, 2),
            sum(rows or 0 for *_, rows in noted),
            size,
            reverse_proxies.client(environment),
            environment[ENVIRONMENT_ID],
        )

    def route(self, path: str) -> str:
        """Return the documented path of a path: `/api/v1/blocks/{hashOrNumber}`."""
        name = self._names.get(path)
        if name is None:
            name = self._found(path)
            if len(path) > _MAX_NAMED:
                return name
            if len(self._names) >= _MAX_NAMES:
                self._names.clear()
            self._names[path] = name
        return name

    def _found(self, path: str) -> str:
        try:
            return _API + api_routes().name(path)
        except Resolver404:
            pass
        if path in _FILES:
            return path
        first = path[1:].partition("/")[0]
        return f"/{first}" if first in _PAGES else UNKNOWN


def _request_target(environment: Mapping[str, Any]) -> str:
    path: str = environment["PATH_INFO"]
    query: str = environment.get("QUERY_STRING", "")
    return f"{path}?{query}" if query else path
