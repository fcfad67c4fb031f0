"""What is counted and logged of each request, and the id by which an answer and the log name it.

A client or proxy may give the id as X-Request-Id; else the node makes one. The answer has it in either case.
"""

import itertools
import math
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from django.http import HttpRequest, StreamingHttpResponse
from django.http.response import HttpResponseBase

from mirror.core import config, logs
from mirror.core.config import reverse_proxies
from mirror.core.db.reading import budget, statements
from mirror.core.db.reading.statements import Noted
from mirror.core.logs import access
from mirror.core.metrics import http
from mirror.core.rest.answers import errors
from mirror.core.rest.routes import PREFIX
from mirror.web.requests.slow_requests import SlowRequests, milliseconds

REQUEST_ID = "x-request-id"
UNKNOWN = "unknown"
ONE_HOST = "A request has one Host header"

_GIVEN = "HTTP_X_REQUEST_ID"
_USABLE = re.compile(r"[\w.:-]{1,64}", re.ASCII)
_API = f"/{PREFIX}"
# Pages are counted together by the first part of their path.
_PAGES = frozenset({"admin", "docs", "health"})
_FILES = frozenset({"/", "/metrics", "/robots.txt", "/favicon.ico", "/favicon.svg"})
# Answers without a body.
_WITHOUT_LENGTH = frozenset({204, 304})
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST"})


class ObserverMiddleware:
    """Counts and logs requests, and gives each an id; the outermost middleware."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._prefix, self._numbers = secrets.token_hex(6), itertools.count(1)
        self._log_access = access.log()
        self._slow_after: float = config.value("logging.slowRequest") or math.inf
        self._slow = SlowRequests()

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        began = time.monotonic()
        request_id = self._id(request)
        logs.REQUEST_ID.set(request_id)
        statements.begin()
        try:
            response = self._response(request)
        finally:
            noted = statements.end()
            budget.end()
            logs.REQUEST_ID.set(None)
        response.headers[REQUEST_ID] = request_id
        seconds, route = time.monotonic() - began, route_of(request)
        status, method = response.status_code, str(request.method)
        if (400 <= status < 500 or status == 503) and route.startswith(_API):
            # By their paths, they would make /metrics several times as large.
            route = _API
        http.REQUESTS.labels(route, method if method in _METHODS else "other", str(status)).observe(seconds)
        if isinstance(response, StreamingHttpResponse):
            content: Any = response.streaming_content
            response.streaming_content = self._logged(request, response, request_id, began, content)
            return response
        size = len(response.content)  # type: ignore[attr-defined]
        if status not in _WITHOUT_LENGTH:
            response.headers.setdefault("Content-Length", str(size))
        self._log(request, status, request_id, began, size, noted)
        if seconds >= self._slow_after:
            self._slow.enqueue(
                noted,
                request_id=request_id,
                method=method,
                path=request.get_full_path(),
                status=status,
                # From its arrival to its answer, and how much of that it has waited for a connection.
                ms=milliseconds(seconds),
                waited_ms=milliseconds(statements.local.waited),
                bytes=size,
                client=reverse_proxies.client(request.META),
            )
        return response

    def _response(self, request: HttpRequest) -> HttpResponseBase:
        # Granian joins several headers of one name by commas, which no host has.
        if "," in request.META.get("HTTP_HOST", ""):
            return errors.page(errors.BadRequest(ONE_HOST))
        return self.get_response(request)

    def _id(self, request: HttpRequest) -> str:
        supplied = request.META.get(_GIVEN)
        if supplied is not None and _USABLE.fullmatch(supplied):
            return str(supplied)
        return f"{self._prefix}-{next(self._numbers):x}"

    def _logged(
        self,
        request: HttpRequest,
        response: StreamingHttpResponse,
        request_id: str,
        began: float,
        content: Iterable[bytes],
    ) -> Iterator[bytes]:
        """Yield the pieces of a body, and log it at its end."""
        size = 0
        try:
            for piece in content:
                size += len(piece)
                yield piece
        finally:
            self._log(request, response.status_code, request_id, began, size, ())

    def _log(
        self,
        request: HttpRequest,
        status: int,
        request_id: str,
        began: float,
        size: int,
        noted: Sequence[Noted],
    ) -> None:
        if self._log_access is None:
            return
        self._log_access(
            request.method,
            request.get_full_path(),
            status,
            round((time.monotonic() - began) * 1000, 2),
            sum(rows or 0 for *_, rows in noted),
            size,
            reverse_proxies.client(request.META),
            request_id,
        )


class ForwardedMiddleware:
    """Gives pages the scheme and host by which a client reached a trusted proxy."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(_API):
            request.META.update(reverse_proxies.forwarded(request.META))
        return self.get_response(request)


def route_of(request: HttpRequest) -> str:
    """Return the documented path of a request: `/api/v1/blocks/{hashOrNumber}`."""
    match, path = request.resolver_match, request.path_info
    if match is not None and match.url_name is not None and path[: len(_API)].lower() == _API:
        return _API + match.url_name
    if path in _FILES:
        return path
    first = path[1:].partition("/")[0]
    return f"/{first}" if first in _PAGES else UNKNOWN
