"""The backend of Django's cache `responses` without Redis: the memory of this process."""

import threading
import time
from typing import Any, NamedTuple

from cachetools import LRUCache
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache

# Bytes that an entry takes besides its body: the key, the headers, and the objects that hold them.
_OVERHEAD = 1500


class _Entry(NamedTuple):
    value: Any
    expires: float


# Name -> the entries that all threads share: Django makes a cache for each thread.
_stores: dict[str, LRUCache[str, _Entry]] = {}
_lock = threading.Lock()


class MemoryCache(BaseCache):
    """At most `MAX_BYTES` bytes of answers; the least recently used are evicted.

    Unlike Django's own memory cache it counts bytes, and answers are not copied on their way in and out.
    """

    def __init__(self, name: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        # A TLRUCache would drop expired answers itself, and take four times as long to find one.
        made: LRUCache[str, _Entry] = LRUCache(
            params["OPTIONS"]["MAX_BYTES"], getsizeof=lambda entry: len(entry.value.body) + _OVERHEAD
        )
        with _lock:
            self._entries = _stores.setdefault(name, made)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        with _lock:
            try:
                entry = self._entries[key]
            except KeyError:
                return default
            if entry.expires <= time.monotonic():
                del self._entries[key]
                return default
        return entry.value

    def set(self, key: str, value: Any, timeout: Any = DEFAULT_TIMEOUT, version: int | None = None) -> None:
        entry = _Entry(value, time.monotonic() + timeout)
        with _lock:
            # An answer that is larger than the whole cache is not stored.
            if self._entries.getsizeof(entry) <= self._entries.maxsize:
                self._entries[key] = entry

    def clear(self) -> None:
        with _lock:
            self._entries.clear()
