"""Values from system files that a process remembers, so that a request need not read the files."""

from collections.abc import Hashable, Iterable, Mapping
from functools import cached_property
from threading import Lock
from typing import Any, Generic, TypeVar

from cachetools import TLRUCache

from mirror.core import config

# An unknown value is looked up again after this long, as its file may be loaded at any time.
_UNKNOWN_SECONDS = 60
_ABSENT: Any = object()

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class Cached(Generic[Key, Value]):
    """Values by key, for as long and as many as the settings say. None is an unknown value."""

    def __init__(self) -> None:
        self._lock = Lock()

    @cached_property
    def _values(self) -> TLRUCache[Key, Value | None]:
        seconds: float = config.value("rest.cache.feeSchedule.maxAge")

        def expires(_key: Key, value: Value | None, now: float) -> float:
            return now + (min(seconds, _UNKNOWN_SECONDS) if value is None else seconds)

        return TLRUCache(config.value("rest.cache.feeSchedule.maxSize"), ttu=expires)

    def take(self, keys: Iterable[Key]) -> dict[Key, Value | None]:
        with self._lock:
            values = {key: self._values.get(key, _ABSENT) for key in keys}
        return {key: value for key, value in values.items() if value is not _ABSENT}

    def put(self, values: Mapping[Key, Value | None]) -> None:
        with self._lock:
            self._values.update(values)

    def forget(self) -> None:
        """Look every value up again, with the settings as they are then."""
        with self._lock:
            vars(self).pop("_values", None)
