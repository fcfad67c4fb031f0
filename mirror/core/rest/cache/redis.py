"""The backend of Django's cache `responses` in a Redis that several processes and hosts share."""

import time
from collections.abc import Callable
from typing import Any

import orjson
from django_redis import cache as django_redis
from django_redis.serializers.base import BaseSerializer

from mirror.core import config
from mirror.core.rest.cache.circuit_breaker import Circuit
from mirror.core.rest.cache.responses import CachedResponse

# Its last character is the version of the form.
_MAGIC = b"\x00LM5"
_LENGTH_BYTES = 4


class RedisCache(django_redis.RedisCache):  # type: ignore[misc]
    """django-redis with a circuit breaker: a failure of Redis is a cache miss.

    django-redis itself can only ignore that a connection broke. It would call an unresponsive server again
    for every request, and wait for it.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(server, params)
        self._circuit = Circuit("redis")
        self._slow: float = config.value("rest.redis.commandTimeout")

    def get(self, *args: Any, **keywords: Any) -> Any:
        return self._call(super().get, *args, **keywords)

    def set(self, *args: Any, **keywords: Any) -> Any:
        return self._call(super().set, *args, **keywords)

    def _call(self, command: Callable[..., Any], *args: Any, **keywords: Any) -> Any:
        if not self._circuit.closed():
            return None
        began = time.monotonic()
        try:
            answer = command(*args, **keywords)
        # A broken server makes its client raise anything, and none of it is a reason to fail a request.
        except Exception as error:
            self._circuit.record_failure(error)
            return None
        # The client's timeout is for each piece of an answer; many small ones can take longer.
        if time.monotonic() - began > self._slow:
            self._circuit.record_failure(TimeoutError("answers slowly"))
        else:
            self._circuit.record_success()
        return answer


class AnswerSerializer(BaseSerializer):  # type: ignore[misc]
    """Answers as bytes, for django-redis: pickled ones would let whoever writes to Redis run code here."""

    def dumps(self, value: CachedResponse) -> bytes:
        head = orjson.dumps([value.headers, value.gzipped, value.expires, len(value.body)])
        return _MAGIC + len(head).to_bytes(_LENGTH_BYTES, "big") + head + value.body

    def loads(self, value: bytes) -> CachedResponse | None:
        """Return the answer; None for anything that `dumps` did not make."""
        if not value.startswith(_MAGIC):
            return None
        start = len(_MAGIC) + _LENGTH_BYTES
        end = start + int.from_bytes(value[len(_MAGIC) : start], "big")
        try:
            headers, gzipped, expires, size = orjson.loads(value[start:end])
        except (orjson.JSONDecodeError, TypeError, ValueError):
            return None
        body = value[end:]
        return CachedResponse(headers, body, gzipped, expires) if len(body) == size else None
