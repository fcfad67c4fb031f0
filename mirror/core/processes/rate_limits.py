"""The requests per second that each client of the API may make, counted by all web server processes together.

Each client has one number, the time until which it has used up its share: a request moves that on by a
request's part of a second, and is refused if it would lie further ahead than a burst takes (the generic cell
rate algorithm). The numbers are in memory that the processes share. It has no lock: of two requests of one
client in the same microsecond, one may go uncounted.
"""

import math
import mmap
import struct
import time
from collections.abc import Callable
from functools import lru_cache
from hashlib import blake2b
from typing import NamedTuple

from mirror.core.config import reverse_proxies
from mirror.core.processes.operating_system import memory_file

# A client's key, and its time of the machine's monotonic clock, which all processes read alike.
_RECORD = struct.Struct("=Qd")
# A client's record is one of so many; where all are others', the one that ends first makes room.
_SLOTS = 4
_CLIENTS = 1 << 16
SIZE = _RECORD.size * _CLIENTS
_MAX_KEYS = 20_000


class Verdict(NamedTuple):
    """Whether a request is admitted; how many more are at once, and when the limit is whole again."""

    admitted: bool
    remaining: int
    whole_seconds: int
    #: When the next request is admitted, of a client that has used up its limit.
    retry_seconds: int


class RateLimits:
    """The limits of a node's clients; `file` is shared memory of `create_memory`."""

    def __init__(self, rate: int, burst: int, file: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._each, self._most, self._clock = 1 / rate, (burst or rate) / rate, clock
        self._memory = mmap.mmap(file, SIZE)
        burst = burst or rate
        #: The header that tells clients of the limit (draft-ietf-httpapi-ratelimit-headers).
        self.policy = f'"client";q={burst};w={math.ceil(burst / rate)}'

    def take(self, client: str) -> Verdict:
        """Count a request of a client, unless it is refused."""
        key = _key(client)
        now = self._clock()
        at, until = self._slot(key, now)
        # After a start with another rate.
        until = min(max(until, now), now + self._most)
        after = until + self._each
        ahead = after - now
        # A part of a request that rounding takes is not missed.
        excess = ahead - self._most - 1e-9
        if excess > 0:
            return Verdict(False, 0, math.ceil(until - now), max(math.ceil(excess), 1))
        _RECORD.pack_into(self._memory, at, key, after)
        return Verdict(True, int((self._most - ahead) / self._each + 1e-6), math.ceil(ahead), 0)

    def headers(self, verdict: Verdict) -> list[tuple[str, str]]:
        value = f'"client";r={verdict.remaining};t={verdict.whole_seconds}'
        return [("ratelimit-policy", self.policy), ("ratelimit", value)]

    def _slot(self, key: int, now: float) -> tuple[int, float]:
        """Return where the record of a client is or is to be, and its time."""
        first = key % _CLIENTS
        oldest, oldest_until = 0, math.inf
        for step in range(_SLOTS):
            at = (first + step) % _CLIENTS * _RECORD.size
            found, until = _RECORD.unpack_from(self._memory, at)
            if found == key:
                return at, until
            if until < oldest_until:
                oldest, oldest_until = at, until
        return oldest, now


def create_memory() -> int:
    """Make the memory that processes share, in the one that starts the others."""
    return memory_file("rate-limits", SIZE)


@lru_cache(maxsize=_MAX_KEYS)
def _key(client: str) -> int:
    digest = blake2b(reverse_proxies.network(client).encode(), digest_size=8).digest()
    # 0 is the record of no client.
    return int.from_bytes(digest, "little") or 1
