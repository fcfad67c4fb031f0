"""Versions of an object in a range of time, which the current table and its history hold."""

from collections.abc import Sequence
from typing import NamedTuple

from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import MAX_INT64, MIN_INT64, Where


def latest_version(table: str, columns: str, where: str) -> str:
    """Return SQL of the latest version that meets a condition, and of `since` when it was valid.

    The condition leaves one row of the table, and stands twice in the SQL. Indexes: the primary key; of the
    history the one that ends in lower(timestamp_range).
    """
    version = f"select {columns}, lower(timestamp_range) as since from"
    return f"""
        ({version} {table} {where})
        union all
        ({version} {table}_history {where} order by lower(timestamp_range) desc limit 1)
        order by since desc limit 1
    """


class VersionRange(NamedTuple):
    """A choice of versions: those that began by `until` and were still valid at `since` (inclusive ns).

    Versions valid at one of `excluded` don't count. The latest of those left is the one.
    """

    since: int = MIN_INT64
    until: int = MAX_INT64
    excluded: Sequence[int] = ()

    @classmethod
    def from_bounds(cls, times: Bounds) -> "VersionRange":
        """Return the range of these times; a version is valid at an equal time if it began by then."""
        until = [*times.equal, *([] if times.upper is None else [times.upper]), MAX_INT64]
        return cls(
            since=MIN_INT64 if times.lower is None else min(times.lower, MAX_INT64),
            until=min(until),
            excluded=[time for time in sorted(times.unequal) if time <= MAX_INT64],
        )

    @property
    def where(self) -> Where:
        """The condition on the column timestamp_range."""
        return Where(
            (
                "lower(timestamp_range) <= %s",
                f"coalesce(upper(timestamp_range) - 1, {MAX_INT64}) >= %s",
                *["not timestamp_range @> %s::bigint"] * len(self.excluded),
            ),
            (self.until, self.since, *self.excluded),
        )
