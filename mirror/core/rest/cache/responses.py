"""The response cache: successful answers, for as long as their clients may cache them.

The key is the request's path and raw query, as sent, and the page limit of a user: GET and HEAD
share an entry, and no header of a client bypasses it. The lifetime is the answer's own max-age. An entry is
the body, compressed unless it is tiny, and the headers that don't depend on the client. Django's cache
`responses` stores entries: see `memory` and `redis`.
"""

import hashlib
import time
from collections.abc import Mapping
from typing import NamedTuple

from django.core.cache import BaseCache, caches
from django.http import HttpResponse
from rest_framework.request import Request

from mirror.core import config
from mirror.core.rest import users
from mirror.core.rest.answers import compression, entity_tags
from mirror.core.rest.paging import links

_METHODS = ("GET", "HEAD")
_PREFIX = "public, max-age="
_DEPENDS_ON_CLIENT = (
    *("cache-control", "content-encoding", "content-length", "ratelimit", "ratelimit-policy", "vary"),
)


class CachedResponse(NamedTuple):
    """A successful answer: `headers` has lower-case names, `expires` is seconds since 1970."""

    headers: Mapping[str, str]
    body: bytes
    gzipped: bool
    expires: float


class CachedAnswer(HttpResponse):
    """An answer from the cache; `gzipped` is its body if that is stored compressed."""

    def __init__(self, cached: CachedResponse, max_age: int) -> None:
        super().__init__(headers={**cached.headers, "cache-control": f"{_PREFIX}{max_age}"})
        self.gzipped = cached.body if cached.gzipped else None
        if not cached.gzipped:
            self.content = cached.body

    def expand(self) -> None:
        """Make the body the uncompressed one."""
        if self.gzipped is not None:
            self.content = compression.gunzip(self.gzipped)


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

    def key(self, request: Request) -> str | None:
        """Return the key of the request's answer; None if its answer is never cached."""
        if request.method not in _METHODS:
            return None
        # A raw query has no space, a path may have one.
        url = f"{request.META.get('QUERY_STRING', '')} {links.base(request)}{request.META['PATH_INFO']}"
        digest = hashlib.md5(url.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        max_rows = users.most_rows(request)
        return f"{self._namespace}:{digest}" if max_rows is None else f"{self._namespace}:{max_rows}:{digest}"

    def find(self, key: str) -> CachedAnswer | None:
        """Return the answer, with its remaining max-age."""
        cached = self._cache.get(key)
        if not isinstance(cached, CachedResponse):
            return None
        seconds = cached.expires - time.time()
        return CachedAnswer(cached, int(seconds + 0.5)) if seconds > 0 else None

    def store(self, key: str, response: HttpResponse) -> None:
        """Cache the answer if that is allowed."""
        seconds = _max_age(response)
        if response.status_code != 200 or not seconds:
            return
        entity_tags.add(response)
        headers = {name.lower(): text for name, text in response.headers.items()}
        for name in _DEPENDS_ON_CLIENT:
            headers.pop(name, None)
        body = response.content
        gzipped = len(body) >= self._gzip_from
        data = compression.gzip(body) if gzipped else body
        self._cache.set(key, CachedResponse(headers, data, gzipped, time.time() + seconds), seconds)


def configured() -> ResponseCache | None:
    return ResponseCache(caches["responses"]) if config.value("rest.cache.response.enabled") else None


def _max_age(response: HttpResponse) -> int:
    number = str(response.headers.get("cache-control", "")).removeprefix(_PREFIX)
    return int(number) if number.isdecimal() else 0
