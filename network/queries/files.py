"""System files, decoded, at a time: exchange rates, fee schedules and the like."""

from collections.abc import Callable
from typing import TypeVar

from ledger.queries import files
from mirror import config
from mirror.db.bounds import Bounds
from mirror.values import entity_id
from mirror.values.hapi import DecodeError

FEE_SCHEDULE, EXCHANGE_RATES = 111, 112

# A file whose parts are still arriving can't be decoded; then its last complete version counts.
_ATTEMPTS = 10

T = TypeVar("T")


def system_file(num: int, times: Bounds, decode: Callable[[bytes], T]) -> tuple[T, int] | None:
    """Return the last version within these times that can be decoded, and the time of its last part.

    When `decode` raises a DecodeError, the version is tried again without its last part, and so on, up to
    ten times.
    """
    for _ in range(_ATTEMPTS):
        version = files.version(system_id(num), times)
        if version is None:
            return None
        content, last = version
        try:
            return decode(content), last
        except DecodeError:
            times = times.between(times.lower, last - 1)
    return None


def system_id(num: int) -> int:
    """Return the encoded id of this number in the network's own shard and realm."""
    return entity_id.encode(config.value("common.shard"), config.value("common.realm"), num)
