"""The response cache: successful answers, for as long as their clients may cache them.

The key is the request's path and raw query, as sent, and the page limit of a user: GET and HEAD
share an entry, and no header of a client bypasses it. The lifetime is the answer's own max-age. An entry is
the body, compressed unless it is tiny, and the headers that don't depend on the client. Django's cache
`responses` stores entries: see `memory` and `redis`.
"""

import hashlib
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.core.cache import BaseCache, caches
from django.http import HttpRequest
from django.http.response import HttpResponseBase

from mirror.core import config
from mirror.core.config import reverse_proxies
from mirror.core.rest import users
from mirror.core.rest.answers import compression
from mirror.core.rest.cache.memory import MemoryCache
from mirror.core.rest.paging import links

_METHODS = ("GET", "HEAD")
_API = "/api/"
_PREFIX = "public, max-age="
_DEPENDS_ON_CLIENT = ("cache-control", "content-encoding", "content-length", "vary")


class CachedResponse(NamedTuple):
    """A successful answer: `headers` has lower-case names, `expires` is seconds since 1970."""

    headers: Mapping[str, str]
    body: bytes
    gzipped: bool
    expires: float


class ResponseCache:
    """Finds and stores answers in one of Django's caches."""

    def __init__(self, cache: BaseCache) -> None:
        self._cache = cache
        compress = config.value("rest.cache.response.compress")
        self._gzip_from: float = (
            config.value("rest.cache.response.compressThreshold") if compress else float("inf")
        )
        # Several networks may share a Redis.
        self._namespace = f"ledger-mirror:{config.value('network')}"
        # In the memory of this process, and the same for every host.
        self._is_at_hand = isinstance(cache, MemoryCache) and not config.value(
            "rest.response.includeHostInLink"
        )

    def key(self, request: HttpRequest) -> str | None:
        """Return the key of the request's answer; None if its answer is never cached."""
        path: str = request.META["PATH_INFO"]
        if request.method not in _METHODS or path[: len(_API)].lower() != _API:
            return None
        max_rows = request.META.get(users.MAX_ROWS)
        return self._key(request.META.get("QUERY_STRING", ""), links.base(request), path, max_rows)

    def _key(self, query: str, base: str, path: str, max_rows: int | None) -> str:
        # A raw query has no space, a path may have one.
        url = f"{query} {base}{path}".encode("utf-8", "surrogatepass")
        digest = hashlib.md5(url, usedforsecurity=False).hexdigest()
        return f"{self._namespace}:{digest}" if max_rows is None else f"{self._namespace}:{max_rows}:{digest}"

    def find_at_once(self, environ: Mapping[str, Any]) -> tuple[CachedResponse, int] | None:
        """Return the answer to a WSGI environment, if it is a plain one, and it takes no time to look."""
        path = environ["PATH_INFO"]
        if (
            not self._is_at_hand
            or environ["REQUEST_METHOD"] not in _METHODS
            or not (path.startswith(_API) and path.isascii())
            or "HTTP_AUTHORIZATION" in environ
            or reverse_proxies.FORWARDED_PREFIX in environ
        ):
            return None
        return self.find(self._key(environ["QUERY_STRING"], "", path, None))

    def find(self, key: str) -> tuple[CachedResponse, int] | None:
        """Return the answer, and its remaining max-age."""
        cached = self._cache.get(key)
        if not isinstance(cached, CachedResponse):
            return None
        seconds = cached.expires - time.time()
        return (cached, int(seconds + 0.5)) if seconds > 0 else None

    def store(self, key: str, response: HttpResponseBase, body: bytes) -> CachedResponse | None:
        """Cache the answer if that is allowed; return the cached form."""
        seconds = _max_age(response)
        if response.status_code != 200 or not seconds:
            return None
        headers = {name.lower(): text for name, text in response.headers.items()}
        for name in _DEPENDS_ON_CLIENT:
            headers.pop(name, None)
        gzipped = len(body) >= self._gzip_from
        data = compression.gzip(body) if gzipped else body
        cached = CachedResponse(headers, data, gzipped, time.time() + seconds)
        self._cache.set(key, cached, seconds)
        return cached


def configured() -> ResponseCache | None:
    return ResponseCache(caches["responses"]) if config.value("rest.cache.response.enabled") else None


def cache_control(max_age: int) -> str:
    return f"{_PREFIX}{max_age}"


def _max_age(response: HttpResponseBase) -> int:
    number = str(response.headers.get("cache-control", "")).removeprefix(_PREFIX)
    return int(number) if number.isdecimal() else 0
