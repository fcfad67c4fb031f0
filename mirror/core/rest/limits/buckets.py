"""Token buckets and counters that all processes of a node share.

A bucket is refilled continuously and holds what a second brings. Times are those of the machine's monotonic
clock, which all its processes read alike.

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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from typing import Protocol

from django.conf import settings

from mirror.core import logs
from mirror.core.processes import operating_system
from mirror.core.rest.limits.clients import Client

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


# SHARED MEMORY

# Key, what is left or was counted, time of that.
_RECORD = struct.Struct("<Qdd")
_RECORDS = 1024
# After them the buckets of clients. Each is in one of a few places; where all are others', the one that was
# written the longest ago makes room.
_CLIENTS, _PLACES = 1 << 16, 4
_SIZE = _RECORD.size * (_RECORDS + _CLIENTS)
# A part of a token that rounding takes is not missed.
_ROUNDING = 1e-9


class SharedBuckets(Buckets):
    """In a file of a node that its processes map into their memory; without one in memory.

    A process that was forked shares them too. There is room for a thousand names; then all is forgotten, and
    every bucket full.
    """

    def __init__(self, path: Path | None, clock: Clock = time.monotonic) -> None:
        self._clock = clock
        self._lock = threading.Lock()
        self._file = _open(path)
        self._memory = mmap.mmap(self._file, _SIZE)

    @contextmanager
    def _locked(self) -> Iterator[None]:
        """Hold the lock against other threads, and that of the file against other processes."""
        with self._lock:
            fcntl.lockf(self._file, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.lockf(self._file, fcntl.LOCK_UN)

    def take_from_client(self, name: str, client: Client, rate: float, size: float, tokens: float) -> float:
        """Take tokens from a client's bucket of this size, and return how many are left.

        If it has fewer, nothing changes, and how many are missing is returned as a negative number.
        """
        with self._locked():
            return self._take_own(name, client, rate, size, tokens)

    def take(
        self, name: str, rate: int, tokens: int, client: Client | None = None, advance: int = 0
    ) -> int | None:
        key = _key(name)
        with self._locked():
            now = self._clock()
            offset, exists = self._find_record(key)
            available = self._available(offset, exists, rate, rate, now)
            is_enough = available >= tokens
            if client is not None and available < rate / 2 and self._has_share(name, client, now):
                own_rate, advance = math.ceil(rate / 2), 0
                is_enough = is_enough and self._take_own(name, client, own_rate, own_rate, tokens) >= 0
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
        with self._locked():
            offset, exists = self._find_record(key)
            counted = _RECORD.unpack_from(self._memory, offset)[1] if exists else 0.0
            if counted >= limit:
                return False
            _RECORD.pack_into(self._memory, offset, key, counted + 1, 0.0)
            return True

    def _available(self, offset: int, exists: bool, rate: float, size: float, now: float) -> float:
        _, tokens, at = _RECORD.unpack_from(self._memory, offset)
        # After a start of the machine its clock begins anew.
        return float(min(tokens + (now - at) * rate, size)) if exists and now >= at else float(size)

    def _take_own(self, name: str, client: Client, rate: float, size: float, tokens: float) -> float:
        key, now = _key(f"{name}:{client.key}"), self._clock()
        first = key % _CLIENTS
        offsets = [(_RECORDS + (first + step) % _CLIENTS) * _RECORD.size for step in range(_PLACES)]
        records = [(*_RECORD.unpack_from(self._memory, offset), offset) for offset in offsets]
        # Its own, or else the one that was written the longest ago.
        stored, _, _, offset = min(records, key=lambda record: (record[0] != key, record[2]))
        left = self._available(offset, stored == key, rate, size, now) - tokens
        if left < -_ROUNDING:
            return left
        _RECORD.pack_into(self._memory, offset, key, max(left, 0.0), now)
        return max(left, 0.0)

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


def _open(path: Path | None) -> int:
    """Open the file of shared buckets, or without one that can be used a file in memory."""
    if path is None:
        return operating_system.memory_file("rate-limits", _SIZE)
    try:
        file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            operating_system.allocate(file, _SIZE)
        except OSError:
            os.close(file)
            raise
    except OSError as error:
        log.warning("throttle_not_shared", path=str(path), reason=error.strerror)
        return _open(None)
    return file


def _key(name: str) -> int:
    return int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") or 1


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


def local_buckets() -> SharedBuckets:
    """Return the buckets in the node's data folder."""
    return SharedBuckets(settings.DATA_DIR / "throttle" if settings.DATA_DIR.is_dir() else None)
