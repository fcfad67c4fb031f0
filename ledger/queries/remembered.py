"""What a process remembers of system files, so that a request need not read them."""

from collections.abc import Hashable, Iterable, Mapping
from threading import Lock
from typing import Any, Generic, TypeVar

from cachetools import TLRUCache

from mirror import config

# What can't be told is looked up again after this long: its files may be loaded any moment.
_UNKNOWN_SECONDS = 60
_ABSENT: Any = object()

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Remembered(Generic[Key, Value]):
    """Values by key, for the time and up to the number of the settings.

    None is a value that can't be told.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        seconds: float = config.value("rest.cache.feeSchedule.maxAge")

        def expires(_key: Key, value: Value | None, now: float) -> float:
            return now + (min(seconds, _UNKNOWN_SECONDS) if value is None else seconds)

        self._values: TLRUCache[Key, Value | None] = TLRUCache(
            config.value("rest.cache.feeSchedule.maxSize"), ttu=expires
        )

    def take(self, keys: Iterable[Key]) -> dict[Key, Value | None]:
        """Return the values that are remembered."""
        with self._lock:
            values = {key: self._values.get(key, _ABSENT) for key in keys}
        return {key: value for key, value in values.items() if value is not _ABSENT}

    def put(self, values: Mapping[Key, Value | None]) -> None:
        with self._lock:
            self._values.update(values)
