"""The response cache: successful answers, kept for as long as their clients may keep them.

The key is the request's path and raw query, as sent: GET and HEAD share an entry, and no header of a client
passes it by. The lifetime is the answer's own max-age. What is kept is the body, in gzip unless it is tiny,
and the headers that don't depend on the client.
"""

import hashlib

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from mirror import config
from mirror.rest.answers import compression
from mirror.rest.answers.stores import Kept, MemoryStore, RedisStore, Store
from mirror.rest.paging import links

_METHODS = ("GET", "HEAD")
_API = "/api/"
_PREFIX = "public, max-age="
_DEPENDS_ON_CLIENT = ("cache-control", "content-encoding", "content-length", "vary")


class ResponseCache:
    """Finds and keeps answers in a store."""

    def __init__(self, store: Store) -> None:
        self._store = store
        compress = config.value("rest.cache.response.compress")
        self._gzip_from: float = (
            config.value("rest.cache.response.compressThreshold") if compress else float("inf")
        )
        # Several networks may share a Redis.
        self._namespace = f"ledger-mirror:{config.value('network')}"

    def key(self, request: HttpRequest) -> str | None:
        """What the request's answer is kept under; None if it is not one to keep."""
        path: str = request.META["PATH_INFO"]
        if request.method not in _METHODS or path[: len(_API)].lower() != _API:
            return None
        # A raw query has no space, a path may have.
        asked = f"{request.META.get('QUERY_STRING', '')} {links.base(request)}{path}"
        digest = hashlib.md5(asked.encode("utf-8", "surrogatepass"), usedforsecurity=False).hexdigest()
        return f"{self._namespace}:{digest}-v1"

    def find(self, key: str) -> tuple[Kept, int] | None:
        """The answer, and its remaining max-age."""
        found = self._store.get(key)
        if found is None:
            return None
        kept, seconds = found
        return kept, int(seconds + 0.5)

    def keep(self, key: str, response: HttpResponseBase, body: bytes) -> Kept | None:
        """Keep the answer if it is one to keep, and give it as it is kept."""
        seconds = _max_age(response)
        if response.status_code != 200 or not seconds:
            return None
        headers = {name.lower(): text for name, text in response.headers.items()}
        for name in _DEPENDS_ON_CLIENT:
            headers.pop(name, None)
        gzipped = len(body) >= self._gzip_from
        kept = Kept(headers, compression.gzip(body) if gzipped else body, gzipped)
        self._store.put(key, kept, seconds)
        return kept


def configured() -> ResponseCache | None:
    """The cache that the settings ask for: in Redis, else in this process; None when switched off."""
    if not config.value("rest.cache.response.enabled"):
        return None
    in_redis = config.value("rest.redis.uri") is not None
    return ResponseCache(
        RedisStore.configured()
        if in_redis
        else MemoryStore(config.value("rest.cache.response.maxSize") << 20)
    )


def cache_control(max_age: int) -> str:
    return f"{_PREFIX}{max_age}"


def _max_age(response: HttpResponseBase) -> int:
    number = str(response.headers.get("cache-control", "")).removeprefix(_PREFIX)
    return int(number) if number.isdecimal() else 0
