"""System files, decoded, at a time: exchange rates, fee schedules and the like.

A file whose parts are still arriving can't be decoded: then its last version that can counts, however many
follow it. A deleted file has no version from then on.
"""

from collections.abc import Callable, Collection
from itertools import groupby
from typing import TypeVar

from ledger.file_content import content_parts
from ledger.queries import files
from mirror.core import config
from mirror.core.db.reading.sql import MAX_INT64, Where, fetch
from mirror.core.db.sql.bounds import Bounds
from mirror.core.values.hapi.messages import DecodeError

FEE_SCHEDULE, EXCHANGE_RATES, SIMPLE_FEES = 111, 112, 113
#: Files up to this number are system files.
LAST_SYSTEM_FILE_NUM = 1000

# Indexes: the primary keys of entity and entity_history.
_EXISTS = """
    not exists (
        select from entity
        where id = file_data.entity_id and deleted and timestamp_range @> {at}
        union all
        select from entity_history
        where id = file_data.entity_id and deleted and timestamp_range @> {at}
    )"""

T = TypeVar("T")


def system_file(num: int, times: Bounds, decode: Callable[[bytes], T]) -> tuple[T, int] | None:
    """Return the last version within these times that can be decoded, and the time of its last part.

    `decode` raises a DecodeError for any other.
    """
    file_id = config.own_id(num)
    at = MAX_INT64 if times.upper is None else times.upper
    version = files.version(file_id, times, Where((_EXISTS.format(at="%s::bigint"),), (at, at)))
    if version is None:
        return None
    content, last = version
    try:
        return decode(content), last
    except DecodeError:
        return _earlier(file_id, times.between(times.lower, last - 1), decode)


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
    parts = content_parts(
        f"and consensus_timestamp <= t.at and {_EXISTS.format(at='t.at')}",
        "and f.consensus_timestamp <= t.at",
    )
    rows = fetch(
        f"""
        select t.at, p.file_data, p.consensus_timestamp
        from unnest(%s::bigint[]) t(at) cross join lateral ({parts}) p
        order by t.at, p.consensus_timestamp
        """,
        (list(times), file_id, file_id),
    )
    versions: dict[int, T | None] = {}  # by the time of the last part
    by_time: dict[int, T] = {}
    for at, group in groupby(rows, key=lambda row: row[0]):
        file_parts = list(group)
        last: int = file_parts[-1][2]
        if last not in versions:
            content = b"".join(data or b"" for _, data, _ in file_parts)
            versions[last] = _decoded(file_id, content, last, decode)
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
