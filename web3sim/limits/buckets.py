"""Token buckets and counters that all processes of a node share, or all nodes that share a Redis.

A bucket is refilled continuously and holds what a second brings. Times are those of the machine's monotonic
clock, which all its processes read alike; in Redis those of the server.
"""

import fcntl
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings

from mirror.core import config, logs
from mirror.core.processes import operating_system
from mirror.core.rest.cache.circuit_breaker import Circuit

log = logs.logger("mirror.web3")

Clock = Callable[[], float]


class Buckets(Protocol):
    def try_consume(self, name: str, rate: int, tokens: int) -> bool:
        """Take tokens from the bucket that `rate` per second fill; False, without change, if it has fewer."""

    def add_tokens(self, name: str, rate: int, tokens: int) -> None:
        """Return tokens that were not used; a full bucket stays full."""

    def count(self, name: str, limit: int) -> bool:
        """Count one more; False if there were `limit` before."""


# MEMORY AND FILES

# Key, what is left or was counted, time of that.
_RECORD = struct.Struct("<Qdd")
_RECORDS = 1024
_SIZE = _RECORD.size * _RECORDS


class SharedBuckets:
    """In a file of a node that its processes map into their memory; without one in this process.

    There is room for a thousand names; then all is forgotten, and every bucket full.
    """

    def __init__(self, path: Path | None, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._file: int | None = None
        if path is not None:
            try:
                self._file = _open(path)
            except OSError as error:
                log.warning("throttle_not_shared", path=str(path), reason=error.strerror)
        self._memory = mmap.mmap(-1 if self._file is None else self._file, _SIZE)

    def try_consume(self, name: str, rate: int, tokens: int) -> bool:
        return self._change_tokens(name, rate, -tokens)

    def add_tokens(self, name: str, rate: int, tokens: int) -> None:
        self._change_tokens(name, rate, tokens)

    def count(self, name: str, limit: int) -> bool:
        key = _key(name)
        with self._lock, _Locked(self._file):
            offset, exists = self._find_record(key)
            counted = _RECORD.unpack_from(self._memory, offset)[1] if exists else 0.0
            if counted >= limit:
                return False
            _RECORD.pack_into(self._memory, offset, key, counted + 1, 0.0)
            return True

    def _change_tokens(self, name: str, rate: int, change: int) -> bool:
        key = _key(name)
        with self._lock, _Locked(self._file):
            offset, exists = self._find_record(key)
            now, tokens = self._clock(), float(rate)
            if exists:
                _, stored, stored_at = _RECORD.unpack_from(self._memory, offset)
                # After a start of the machine its clock begins anew.
                if now >= stored_at:
                    tokens = min(stored + (now - stored_at) * rate, rate)
            tokens += change
            if tokens < 0:
                return False
            _RECORD.pack_into(self._memory, offset, key, min(tokens, rate), now)
            return True

    def _find_record(self, key: int) -> tuple[int, bool]:
        """Where the record of a key is or is to be, and whether it is there."""
        for step in range(_RECORDS):
            offset = (key + step) % _RECORDS * _RECORD.size
            stored = _RECORD.unpack_from(self._memory, offset)[0]
            if stored in (key, 0):
                return offset, stored == key
        self._memory[:] = bytes(_SIZE)
        return key % _RECORDS * _RECORD.size, False


def _open(path: Path) -> int:
    """Open the file of shared buckets. Errors: OSError, also for a full disk."""
    file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        operating_system.allocate(file, _SIZE)
    except OSError:
        os.close(file)
        raise
    return file


class _Locked:
    """Holds a file's lock against other processes; nothing without a file."""

    def __init__(self, file: int | None) -> None:
        self._file = file

    def __enter__(self) -> None:
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_EX)

    def __exit__(self, *error: object) -> None:
        if self._file is not None:
            fcntl.flock(self._file, fcntl.LOCK_UN)


def _key(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") or 1


# REDIS

# The state expires when the bucket would be full again.
_CHANGE = """
local rate, by = tonumber(ARGV[1]), tonumber(ARGV[2])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local found = redis.call('HMGET', KEYS[1], 'left', 'at')
local left = rate
if found[1] then left = math.min(rate, found[1] + math.max(0, now - found[2]) * rate) end
left = left + by
if left < 0 then return 0 end
local text = string.format('%.6f', math.min(left, rate))
redis.call('HSET', KEYS[1], 'left', text, 'at', string.format('%.6f', now))
redis.call('EXPIRE', KEYS[1], 2)
return 1
"""
_COUNT = """
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 86400)
return 1
"""


class RedisBuckets:
    """In a Redis, by a client such as django-redis makes; in `fallback` while that does not work."""

    def __init__(self, client: Any, circuit: Circuit, fallback: Buckets, namespace: str) -> None:
        self._circuit, self._fallback, self._namespace = circuit, fallback, namespace
        self._change, self._count = client.register_script(_CHANGE), client.register_script(_COUNT)

    def try_consume(self, name: str, rate: int, tokens: int) -> bool:
        is_taken = self._run(self._change, name, rate, -tokens)
        return self._fallback.try_consume(name, rate, tokens) if is_taken is None else is_taken

    def add_tokens(self, name: str, rate: int, tokens: int) -> None:
        if self._run(self._change, name, rate, tokens) is None:
            self._fallback.add_tokens(name, rate, tokens)

    def count(self, name: str, limit: int) -> bool:
        counted = self._run(self._count, name, limit)
        return self._fallback.count(name, limit) if counted is None else counted

    def _run(self, script: Any, name: str, *arguments: int) -> bool | None:
        """Return the answer of a script; None when Redis does not answer."""
        if not self._circuit.closed():
            return None
        try:
            answer = script([f"{self._namespace}:{name}"], arguments)
        # A broken server makes its client raise anything.
        except Exception as error:
            self._circuit.record_failure(error)
            return None
        self._circuit.record_success()
        return bool(answer)


# IN ADVANCE

# How much of a second a process takes at once.
_ADVANCE = 20


class AdvanceBuckets:
    """Takes tokens from shared buckets in advance, so that most requests need no access to them.

    It takes a twentieth of a second's worth more than it needs, and returns what is beyond twice as much.
    """

    def __init__(self, shared: Buckets) -> None:
        self._shared = shared
        self._lock = threading.Lock()
        self._reserve: dict[str, int] = {}

    def try_consume(self, name: str, rate: int, tokens: int) -> bool:
        advance = rate // _ADVANCE
        with self._lock:
            remaining = self._reserve.get(name, 0) - tokens
            if remaining < 0:
                if advance and self._shared.try_consume(name, rate, advance - remaining):
                    remaining = advance
                elif self._shared.try_consume(name, rate, -remaining):
                    remaining = 0
                else:
                    return False
            self._reserve[name] = remaining
            return True

    def add_tokens(self, name: str, rate: int, tokens: int) -> None:
        advance = rate // _ADVANCE
        with self._lock:
            remaining = self._reserve.get(name, 0) + tokens
            if remaining > 2 * advance:
                self._shared.add_tokens(name, rate, remaining - advance)
                remaining = advance
            self._reserve[name] = remaining

    def count(self, name: str, limit: int) -> bool:
        return self._shared.count(name, limit)


@cache
def process_buckets() -> Buckets:
    """Return the buckets that all requests to this process use."""
    return configured()


def configured() -> Buckets:
    """In the Redis of the settings, else in the node's data folder."""
    shared = SharedBuckets(settings.DATA_DIR / "throttle" if settings.DATA_DIR.is_dir() else None)
    if config.value("rest.redis.uri") is None:
        return AdvanceBuckets(shared)
    from django_redis import get_redis_connection

    namespace = f"ledger-mirror:{config.value('network')}:web3"
    client = get_redis_connection("default")
    return AdvanceBuckets(RedisBuckets(client, Circuit("redis"), shared, namespace))
