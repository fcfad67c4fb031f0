"""Where the response cache keeps answers: in the memory of this process, or in a Redis shared by all.

Nothing that is wrong with a store reaches a client: then it has nothing.
"""

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, Protocol

import orjson

from mirror import config

log = logging.getLogger("mirror.rest")

_MAGIC = b"\x00LM1"
_LENGTH_BYTES = 4
# What an entry costs beside its body: key, headers, and the objects that hold them.
_OVERHEAD = 1500
# How long a Redis that failed is not asked.
_PAUSE_SECONDS = 5.0

Clock = Callable[[], float]


class Kept(NamedTuple):
    """A successful answer; `headers` has lower-case names."""

    headers: Mapping[str, str]
    body: bytes
    gzipped: bool


class Store(Protocol):
    """Keeps answers for a number of seconds."""

    def get(self, key: str) -> tuple[Kept, float] | None:
        """The answer, and how many seconds it still lives."""

    def put(self, key: str, kept: Kept, seconds: int) -> None: ...


class MemoryStore:
    """At most `size` bytes of answers in this process; those not asked for longest make room."""

    def __init__(self, size: int, clock: Clock = time.monotonic) -> None:
        self._size, self._clock = size, clock
        self._entries: OrderedDict[str, tuple[Kept, float]] = OrderedDict()
        self._used = 0
        self._lock = threading.Lock()

    def get(self, key: str) -> tuple[Kept, float] | None:
        with self._lock:
            found = self._entries.get(key)
            if found is None:
                return None
            kept, expires = found
            seconds = expires - self._clock()
            if seconds <= 0:
                self._drop(key)
                return None
            self._entries.move_to_end(key)
            return kept, seconds

    def put(self, key: str, kept: Kept, seconds: int) -> None:
        cost = _cost(kept)
        if cost > self._size:
            return
        with self._lock:
            if key in self._entries:
                self._drop(key)
            while self._used + cost > self._size:
                self._drop(next(iter(self._entries)))
            self._entries[key] = kept, self._clock() + seconds
            self._used += cost

    def _drop(self, key: str) -> None:
        kept, _ = self._entries.pop(key)
        self._used -= _cost(kept)


def _cost(kept: Kept) -> int:
    return len(kept.body) + _OVERHEAD


class Circuit:
    """Whether to ask a service: for a while after it failed, it is spared.

    Then one request tries, and the others wait for what becomes of it. The log tells of the first failure
    and of the end.
    """

    def __init__(self, service: str, pause: float = _PAUSE_SECONDS, clock: Clock = time.monotonic) -> None:
        self._service, self._pause, self._clock = service, pause, clock
        self._spared_until: float | None = None
        self._lock = threading.Lock()

    def closed(self) -> bool:
        """Whether the caller may ask; it then reports `worked` or `failed`."""
        if self._spared_until is None:
            return True
        with self._lock:
            now = self._clock()
            if self._spared_until is None or now < self._spared_until:
                return self._spared_until is None
            self._spared_until = now + self._pause
            return True

    def worked(self) -> None:
        if self._spared_until is None:
            return
        with self._lock:
            if self._spared_until is not None:
                self._spared_until = None
                log.warning("event=service_back service=%s", self._service)

    def failed(self, error: Exception) -> None:
        with self._lock:
            first = self._spared_until is None
            self._spared_until = self._clock() + self._pause
        if first:
            log.warning(
                "event=service_failed service=%s error=%s retry_s=%g",
                self._service,
                f"{type(error).__name__}: {error}"[:200],
                self._pause,
            )


class RedisStore:
    """Answers in a Redis, by a client such as django-redis makes.

    An entry carries the time of its end, so that one command reads both.
    """

    def __init__(self, client: Any, circuit: Circuit, slow: float) -> None:
        self._client, self._circuit, self._slow = client, circuit, slow

    @classmethod
    def configured(cls) -> "RedisStore":
        """By the cache `default` of Django's settings, which django-redis serves."""
        from django_redis import get_redis_connection

        return cls(
            get_redis_connection("default"), Circuit("redis"), config.value("rest.redis.commandTimeout")
        )

    def get(self, key: str) -> tuple[Kept, float] | None:
        found = unpack(self._asked(lambda: self._client.get(key)))
        if found is None:
            return None
        kept, expires = found
        seconds = expires - time.time()
        return (kept, seconds) if seconds > 0 else None

    def put(self, key: str, kept: Kept, seconds: int) -> None:
        data = pack(kept, time.time() + seconds)
        self._asked(lambda: self._client.set(key, data, ex=seconds))

    def _asked(self, command: Callable[[], Any]) -> Any:
        if not self._circuit.closed():
            return None
        began = time.monotonic()
        try:
            answer = command()
        # A broken server makes its client raise anything, and none of it is a reason to fail a request.
        except Exception as error:
            self._circuit.failed(error)
            return None
        # The timeout is for each piece of an answer; many small ones can take longer.
        if time.monotonic() - began > self._slow:
            self._circuit.failed(TimeoutError("answers slowly"))
        else:
            self._circuit.worked()
        return answer


def pack(kept: Kept, expires: float) -> bytes:
    """An entry as bytes; `expires` in seconds since the epoch."""
    head = orjson.dumps([expires, kept.gzipped, kept.headers])
    return _MAGIC + len(head).to_bytes(_LENGTH_BYTES, "big") + head + kept.body


def unpack(data: Any) -> tuple[Kept, float] | None:
    """The entry and its end; None for anything that `pack` did not make."""
    if not isinstance(data, bytes) or not data.startswith(_MAGIC):
        return None
    start = len(_MAGIC) + _LENGTH_BYTES
    end = start + int.from_bytes(data[len(_MAGIC) : start], "big")
    try:
        expires, gzipped, headers = orjson.loads(data[start:end])
    except (orjson.JSONDecodeError, TypeError, ValueError):
        return None
    return Kept(headers, data[end:], gzipped), expires
