"""What is counted of each request, and the id by which an answer and the log name it.

A client or proxy may give the id as X-Request-Id; else the node makes one. The answer has it in either case.
"""

import itertools
import re
import secrets
import time
from collections.abc import Mapping
from typing import Any

from django.urls import Resolver404, get_resolver

from mirror.metrics import http
from mirror.rest.routes import PREFIX, Routes

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
_MOST_NAMES = 4000


class Observer:
    """Observes the requests of a web server process."""

    def __init__(self) -> None:
        (self._routes,) = (each for each in get_resolver().url_patterns if isinstance(each, Routes))
        # Path -> the documented path.
        self._names: dict[str, str] = {}
        self._prefix, self._numbers = secrets.token_hex(6), itertools.count(1)

    def begin(self, environment: dict[str, Any]) -> str:
        """Return the id of a request, and note it in its environment."""
        given = environment.get(_GIVEN)
        if given is not None and _USABLE.fullmatch(given):
            name: str = given
        else:
            name = f"{self._prefix}-{next(self._numbers):x}"
        environment[ENVIRONMENT_ID] = name
        return name

    def end(self, environment: Mapping[str, Any], status: int, arrived: float) -> None:
        """Count an answer to a request that arrived at a time of `time.monotonic`."""
        method = environment["REQUEST_METHOD"]
        http.REQUESTS.observe(
            time.monotonic() - arrived,
            self.route(environment["PATH_INFO"]),
            method if method in _METHODS else "other",
            str(status),
        )

    def route(self, path: str) -> str:
        """Return the documented path of a path: `/api/v1/blocks/{hashOrNumber}`."""
        name = self._names.get(path)
        if name is None:
            name = self._found(path)
            if len(self._names) >= _MOST_NAMES:
                self._names.clear()
            self._names[path] = name
        return name

    def _found(self, path: str) -> str:
        try:
            return _API + self._routes.name(path)
        except Resolver404:
            pass
        if path in _FILES:
            return path
        first = path[1:].partition("/")[0]
        return f"/{first}" if first in _PAGES else UNKNOWN
