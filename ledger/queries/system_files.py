"""System files, decoded, at a time: exchange rates, fee schedules and the like."""

from collections.abc import Callable, Collection
from itertools import groupby
from typing import TypeVar

from ledger.file_content import content_parts
from ledger.queries import files
from mirror.core import config
from mirror.core.db.reading.sql import fetch
from mirror.core.db.sql.bounds import Bounds
from mirror.core.values.hapi.messages import DecodeError

FEE_SCHEDULE, EXCHANGE_RATES = 111, 112
#: Files up to this number are system files.
LAST_SYSTEM_FILE_NUM = 1000

# A file whose parts are still arriving can't be decoded; then its last complete version counts.
_ATTEMPTS = "rest.query.maxFileAttempts"

T = TypeVar("T")


def system_file(
    num: int, times: Bounds, decode: Callable[[bytes], T], *, attempts: int | None = None
) -> tuple[T, int] | None:
    """Return the last version within these times that can be decoded, and the time of its last part.

    When `decode` raises a DecodeError, the version is tried again without its last part, and so on:
    `attempts` times in all, or as often as the setting rest.query.maxFileAttempts says.
    """
    for _ in range(config.value(_ATTEMPTS) if attempts is None else attempts):
        version = files.version(config.own_id(num), times)
        if version is None:
            return None
        content, last = version
        try:
            return decode(content), last
        except DecodeError:
            times = times.between(times.lower, last - 1)
    return None


def system_file_at_each(num: int, times: Collection[int], decode: Callable[[bytes], T]) -> dict[int, T]:
    """Return the file by time, as `system_file` finds it up to each of them; times without one are left out.

    Reading takes one statement, whatever the number of times, unless a version can't be decoded.
    """
    file_id = config.own_id(num)
    parts = content_parts("and consensus_timestamp <= t.at", "and f.consensus_timestamp <= t.at")
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
            versions[last] = _decoded(num, content, last, decode)
        version = versions[last]
        if version is not None:
            by_time[at] = version
    return by_time


def _decoded(num: int, content: bytes, last: int, decode: Callable[[bytes], T]) -> T | None:
    """Return this version, or else the one before it that can be decoded."""
    try:
        return decode(content)
    except DecodeError:
        earlier = system_file(num, Bounds(upper=last - 1), decode, attempts=config.value(_ATTEMPTS) - 1)
        return None if earlier is None else earlier[0]
