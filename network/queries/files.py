"""System files at a time: what their transactions put together.

A file begins with a create, or with an update that brings content, and goes on with the appends after it.
"""

from collections.abc import Callable
from typing import TypeVar

from ledger.models.file import content_parts
from mirror import config
from mirror.db.bounds import Bounds
from mirror.db.sql import fetch
from mirror.values import entity_id
from mirror.values.hapi import DecodeError

FEE_SCHEDULE, EXCHANGE_RATES = 111, 112

# A file is also seen while its parts are still coming in: then its last readable version counts.
_ATTEMPTS = 10

T = TypeVar("T")


def system_file(num: int, times: Bounds, decode: Callable[[bytes], T]) -> tuple[T, int] | None:
    """The last version in this range of times that can be decoded, and when its last part came.

    A version that breaks `decode` with a DecodeError is tried again without its last part, then the one
    before it is tried, and so on, some times.
    """
    for _ in range(_ATTEMPTS):
        found = _version(system_id(num), times)
        if found is None:
            return None
        content, last = found
        try:
            return decode(content), last
        except DecodeError:
            times = times.between(times.lower, last - 1)
    return None


def system_id(num: int) -> int:
    """The encoded id of this number in the network's own shard and realm."""
    return entity_id.encode(config.value("common.shard"), config.value("common.realm"), num)


def _version(file_id: int, times: Bounds) -> tuple[bytes, int] | None:
    within = times.where("consensus_timestamp")
    up_to = Bounds(upper=times.upper).where("f.consensus_timestamp")
    statement = content_parts(within.and_sql, up_to.and_sql)
    rows = fetch(statement, (file_id, *within.values, file_id, *up_to.values))
    if not rows:
        return None
    return b"".join(content or b"" for content, _ in rows), rows[-1][1]
