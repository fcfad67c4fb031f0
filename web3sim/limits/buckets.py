"""Token buckets and counters that all processes of a node share, or all nodes that share a Redis.

A bucket is refilled continuously and holds what a second brings. Times are those of the machine's monotonic
clock, which all its processes read alike; in Redis those of the server.

A client may empty a bucket. Only while another client has been refused in the last minute, it has a share:
once less than half is left, it must also have as much in a bucket of its own, which half the rate fills.
"""

import fcntl
import math
import mmap
import os
import struct
import threading
import time
from collections.abc import Callable, Sequence
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any, Protocol

from django.conf import settings

from mirror.core import config, logs
from mirror.core.processes import operating_system
from mirror.core.rest.cache.circuit_breaker import Circuit
from web3sim.limits.clients import Client

log = logs.logger("mirror.web3")

Clock = Callable[[], float]


#: How long others have a share after a client was refused.
SHARED_SECONDS = 60


class Buckets(Protocol):
    def take(
        self, name: str, rate: int, tokens: int, client: Client | None = None, advance: int = 0
    ) -> int | None:
        """Take tokens from the bucket that `rate` per second fill, and `advance` more if it has them.

        Return how many more, or None, without change, if there are fewer tokens, or fewer for this client.
        """

    def try_consume(self, name: str, rate: int, tokens: int, client: Client | None = None) -> bool:
        """Take tokens; False, without change, if there are fewer."""
        return self.take(name, rate, tokens, client) is not None

    def add_tokens(self, name: str, rate: int, tokens: int) -> None:
        """Return tokens that were not used; a full bucket stays full."""
        self.take(name, rate, -tokens)

    def count(self, name: str, limit: int) -> bool:
        """Count one more; False if there were `limit` before."""


# MEMORY AND FILES

# Key, what is left or was counted, time of that.
_RECORD = struct.Struct("<Qdd")
_RECORDS = 1024
# After them the buckets of clients. Each is in one of a few places; where all are others', the one that was
# written the longest ago makes room.
_CLIENTS, _PLACES = 4096, 4
_SIZE = _RECORD.size * (_RECORDS + _CLIENTS)


class SharedBuckets(Buckets):
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

    def take(
        self, name: str, rate: int, tokens: int, client: Client | None = None, advance: int = 0
    ) -> int | None:
        key = _key(name)
        with self._lock, _Locked(self._file):
            now = self._clock()
            offset, exists = self._find_record(key)
            available = self._available(offset, exists, rate, now)
            is_enough = available >= tokens
            if client is not None and available < rate / 2 and self._has_share(name, client, now):
                is_enough, advance = is_enough and self._take_own(name, client, rate, tokens), 0
            if not is_enough:
                if client is not None:
                    self._record_refusal(name, client, now)
                return None
            if available < tokens + advance:
                advance = 0
            _RECORD.pack_into(self._memory, offset, key, min(available - tokens - advance, rate), now)
            return advance

    def count(self, name: str, limit: int) -> bool:
        key = _key(name)
        with self._lock, _Locked(self._file):
            offset, exists = self._find_record(key)
            counted = _RECORD.unpack_from(self._memory, offset)[1] if exists else 0.0
            if counted >= limit:
                return False
            _RECORD.pack_into(self._memory, offset, key, counted + 1, 0.0)
            return True

    def _available(self, offset: int, exists: bool, rate: int, now: float) -> float:
        _, tokens, at = _RECORD.unpack_from(self._memory, offset)
        # After a start of the machine its clock begins anew.
        return float(min(tokens + (now - at) * rate, rate)) if exists and now >= at else float(rate)

    def _take_own(self, name: str, client: Client, rate: int, tokens: int) -> bool:
        """Take tokens from a client's own bucket; False, without change, if it has fewer."""
        key, own_rate, now = _key(f"{name}:{client.key}"), math.ceil(rate / 2), self._clock()
        first = key % _CLIENTS
        offsets = [(_RECORDS + (first + step) % _CLIENTS) * _RECORD.size for step in range(_PLACES)]
        records = [(*_RECORD.unpack_from(self._memory, offset), offset) for offset in offsets]
        # Its own, or else the one that was written the longest ago.
        stored, _, _, offset = min(records, key=lambda record: (record[0] != key, record[2]))
        available = self._available(offset, stored == key, own_rate, now)
        if available < tokens:
            return False
        _RECORD.pack_into(self._memory, offset, key, available - tokens, now)
        return True

    def _has_share(self, name: str, client: Client, now: float) -> bool:
        """Return whether another client was refused in the last minute."""
        refused = (self._refusal(name, place) for place in (0, 1))
        return not client.is_exempt and any(
            at is not None and 0 <= now - at < SHARED_SECONDS and other != client.key for other, at in refused
        )

    def _record_refusal(self, name: str, client: Client, now: float) -> None:
        """Record the refusal of a client beside the last one of another client."""
        last, at = self._refusal(name, 0)
        if at is not None and last != client.key:
            self._store(f"{name}:refused:1", last, at)
        self._store(f"{name}:refused:0", client.key, now)

    def _refusal(self, name: str, place: int) -> tuple[int, float | None]:
        offset, exists = self._find_record(_key(f"{name}:refused:{place}"))
        _, client, at = _RECORD.unpack_from(self._memory, offset)
        return int(client), at if exists else None

    def _store(self, name: str, value: float, at: float) -> None:
        key = _key(name)
        _RECORD.pack_into(self._memory, self._find_record(key)[0], key, value, at)

    def _find_record(self, key: int) -> tuple[int, bool]:
        """Where the record of a key is or is to be, and whether it is there."""
        for step in range(_RECORDS):
            offset = (key + step) % _RECORDS * _RECORD.size
            stored = _RECORD.unpack_from(self._memory, offset)[0]
            if stored in (key, 0):
                return offset, stored == key
        self._memory[: _RECORD.size * _RECORDS] = bytes(_RECORD.size * _RECORDS)
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

# As in SharedBuckets. The answer is -1 for a refusal. The state expires when the bucket would be full again.
_TAKE = """
local rate, tokens, advance = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local client, exempt, seconds = ARGV[4], ARGV[5], tonumber(ARGV[6])
local time = redis.call('TIME')
local now = time[1] + time[2] / 1000000
local function available(key, rate)
  local found = redis.call('HMGET', key, 'left', 'at')
  if not found[1] then return rate end
  return math.min(rate, found[1] + math.max(0, now - found[2]) * rate)
end
local function store(key, left)
  redis.call('HSET', key, 'left', string.format('%.6f', left), 'at', string.format('%.6f', now))
  redis.call('EXPIRE', key, 2)
end
local left = available(KEYS[1], rate)
local enough = left >= tokens
if client ~= '' then
  local refused = redis.call('HMGET', KEYS[3], 'last', 'at', 'before', 'before_at')
  local shared = false
  for place = 1, 3, 2 do
    local other, at = refused[place], refused[place + 1]
    if other and other ~= client and now - at < seconds then shared = exempt == '0' end
  end
  if shared and left < rate / 2 then
    local own = available(KEYS[2], math.ceil(rate / 2))
    advance, enough = 0, enough and own >= tokens
    if enough then store(KEYS[2], own - tokens) end
  end
  if not enough then
    if refused[1] and refused[1] ~= client then
      redis.call('HSET', KEYS[3], 'before', refused[1], 'before_at', refused[2])
    end
    redis.call('HSET', KEYS[3], 'last', client, 'at', string.format('%.6f', now))
    redis.call('EXPIRE', KEYS[3], seconds)
  end
end
if not enough then return -1 end
if left < tokens + advance then advance = 0 end
store(KEYS[1], math.min(left - tokens - advance, rate))
return advance
"""
_COUNT = """
if tonumber(redis.call('GET', KEYS[1]) or 0) >= tonumber(ARGV[1]) then return 0 end
redis.call('INCR', KEYS[1])
redis.call('EXPIRE', KEYS[1], 86400)
return 1
"""


class RedisBuckets(Buckets):
    """In a Redis, by a client such as django-redis makes; in `fallback` while that does not work."""

    def __init__(self, client: Any, circuit: Circuit, fallback: Buckets, namespace: str) -> None:
        self._circuit, self._fallback, self._namespace = circuit, fallback, namespace
        self._take, self._count = client.register_script(_TAKE), client.register_script(_COUNT)

    def take(
        self, name: str, rate: int, tokens: int, client: Client | None = None, advance: int = 0
    ) -> int | None:
        key = "" if client is None else str(client.key)
        is_exempt = int(client is not None and client.is_exempt)
        names = name, f"{name}:{key}", f"{name}:refused"
        taken = self._run(self._take, names, rate, tokens, advance, key, is_exempt, SHARED_SECONDS)
        if taken is None:
            return self._fallback.take(name, rate, tokens, client, advance)
        return None if taken < 0 else taken

    def count(self, name: str, limit: int) -> bool:
        counted = self._run(self._count, (name,), limit)
        return self._fallback.count(name, limit) if counted is None else bool(counted)

    def _run(self, script: Any, names: Sequence[str], *arguments: int | str) -> int | None:
        """Return the answer of a script; None when Redis does not answer."""
        if not self._circuit.closed():
            return None
        try:
            answer: int = script([f"{self._namespace}:{name}" for name in names], arguments)
        # A broken server makes its client raise anything.
        except Exception as error:
            self._circuit.record_failure(error)
            return None
        self._circuit.record_success()
        return answer


# IN ADVANCE

# How much of a second a process takes at once.
_ADVANCE = 20


class AdvanceBuckets(Buckets):
    """Takes tokens from shared buckets in advance, so that most requests need no access to them.

    It takes a twentieth of a second's worth more than it needs, and returns what is beyond twice as much.
    """

    def __init__(self, shared: Buckets) -> None:
        self._shared = shared
        self._lock = threading.Lock()
        self._reserve: dict[str, int] = {}

    def take(
        self, name: str, rate: int, tokens: int, client: Client | None = None, advance: int = 0
    ) -> int | None:
        most = rate // _ADVANCE
        with self._lock:
            remaining = self._reserve.get(name, 0) - tokens
            if remaining < 0:
                taken = self._shared.take(name, rate, -remaining, client, most)
                if taken is None:
                    return None
                remaining = taken
            elif remaining > 2 * most:
                self._shared.add_tokens(name, rate, remaining - most)
                remaining = most
            self._reserve[name] = remaining
            return 0

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
