"""The processor time that requests are expected to take: what the ones like them have taken before.

Requests are alike if they differ only in the numbers of their paths and queries. The very same request says
more: an account with many transactions takes longer than others. Only what has once taken long is remembered.
"""

import re
import threading

from mirror.core.db.scheduling.request_scheduler import CPU_SHARE

# A request is expected to be slow if it takes this part of the processor time after which it is so anyhow.
_PART = 1 / 3
# And so many times as long as others: all take longer while something else uses the processor's caches.
_TIMES = 10.0
# The time that a quarter of them stay below: a step down for each of these, a smaller one up for the rest.
_DOWN, _UP = 0.97, 1.01
# What is expected falls at once, and rises slowly.
_RISE = 1.25
_MOST = 2000
# The names of a request: its own, and the one that it shares with others like it.
Names = tuple[str, str]

# Numbers, times, ids, hashes. A key may begin with a letter, but a better pattern takes longer each time.
_NUMBERS = re.compile(r"[0-9][\w.-]*")


def names(path: str, query: str) -> Names:
    own = f"{path}?{query}"
    return own, _NUMBERS.sub("#", own)


class ExpectedCost:
    """What is expected of the requests of a process."""

    def __init__(self, slow_after: float) -> None:
        self._least = slow_after * CPU_SHARE * _PART
        self._usual = self._least / _TIMES
        # Request, or what requests are like -> seconds; those noted last come last.
        self._seconds: dict[str, float] = {}
        self._lock = threading.Lock()

    def is_slow(self, request: Names) -> bool:
        own, like = request
        seconds = self._seconds.get(own)
        if seconds is None:
            seconds = self._seconds.get(like)
        return seconds is not None and seconds > self._limit()

    def note(self, request: Names, seconds: float) -> None:
        self._usual *= _DOWN if seconds < self._usual else _UP
        limit = self._limit()
        for name in request:
            before = self._seconds.get(name)
            if before is None and seconds <= limit:
                continue
            with self._lock:
                self._seconds.pop(name, None)
                self._seconds[name] = seconds if before is None else min(seconds, before * _RISE)
                if len(self._seconds) > _MOST:
                    del self._seconds[next(iter(self._seconds))]

    def _limit(self) -> float:
        return max(self._least, self._usual * _TIMES)
