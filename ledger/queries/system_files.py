"""System files, decoded, at a time: exchange rates, fee schedules and the like.

A file whose parts are still arriving can't be decoded: then its last version that can counts, however many
follow it. A deleted file has no version from then on.
"""

from collections.abc import Callable, Collection, Iterable
from itertools import groupby
from typing import TypeVar

from ledger.file_content import content_parts
from ledger.queries import files
from mirror.core import config
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import MAX_INT64, NOTHING, Row, Where, fetch
from mirror.core.values.hapi.messages import DecodeError

FEE_SCHEDULE, EXCHANGE_RATES, SIMPLE_FEES = 111, 112, 113
#: Files up to this number are system files.
LAST_SYSTEM_FILE_NUM = 1000

T = TypeVar("T")


def system_file(num: int, times: Bounds, decode: Callable[[bytes], T]) -> tuple[T, int] | None:
    """Return the last version within these times that can be decoded, and the time of its last part.

    `decode` raises a DecodeError for any other.
    """
    file_id = config.own_id(num)
    at = MAX_INT64 if times.upper is None else times.upper
    rows = _parts(file_id, [at], times.where("consensus_timestamp"))
    if not rows:
        return None
    last: int = rows[-1][2]
    try:
        return decode(_joined(rows)), last
    except DecodeError:
        return _earlier(file_id, times.between(times.lower, last - 1), decode)


def _parts(file_id: int, times: Collection[int], within: Where = NOTHING) -> list[Row]:
    """Return the parts of a file at each of these times: that time, the data, the time of the part.

    `within` is a condition on the first part. Reading takes one statement.
    """
    parts = content_parts(
        f"and consensus_timestamp <= t.at {within.and_sql}", "and f.consensus_timestamp <= t.at"
    )
    # Indexes: the primary keys of entity and entity_history, whose rows may be on other machines than files.
    return fetch(
        f"""
        with deletion as materialized (
            select timestamp_range from entity where id = %s and deleted
            union all
            select timestamp_range from entity_history where id = %s and deleted
        )
        select t.at, p.file_data, p.consensus_timestamp
        from unnest(%s::bigint[]) t(at) cross join lateral ({parts}) p
        where not exists (select from deletion where timestamp_range @> t.at)
        order by t.at, p.consensus_timestamp
        """,
        (file_id, file_id, list(times), file_id, *within.values, file_id),
    )


def _joined(rows: Iterable[Row]) -> bytes:
    return b"".join(data or b"" for _, data, _ in rows)


def _earlier(file_id: int, times: Bounds, decode: Callable[[bytes], T]) -> tuple[T, int] | None:
    for content, last in files.versions(file_id, times):
        try:
            return decode(content), last
        except DecodeError:
            continue
    return None


def system_file_at_each(num: int, times: Collection[int], decode: Callable[[bytes], T]) -> dict[int, T]:
    """Return the file by time, as `system_file` finds it up to each of them; times without one are left out.

    Reading takes one statement, whatever the number of times, unless a version can't be decoded.
    """
    file_id = config.own_id(num)
    versions: dict[int, T | None] = {}  # by the time of the last part
    by_time: dict[int, T] = {}
    for at, group in groupby(_parts(file_id, times), key=lambda row: row[0]):
        file_parts = list(group)
        last: int = file_parts[-1][2]
        if last not in versions:
            versions[last] = _decoded(file_id, _joined(file_parts), last, decode)
        version = versions[last]
        if version is not None:
            by_time[at] = version
    return by_time


def _decoded(file_id: int, content: bytes, last: int, decode: Callable[[bytes], T]) -> T | None:
    """Return this version, or else the one before it that can be decoded."""
    try:
        return decode(content)
    except DecodeError:
        earlier = _earlier(file_id, Bounds(upper=last - 1), decode)
        return None if earlier is None else earlier[0]
