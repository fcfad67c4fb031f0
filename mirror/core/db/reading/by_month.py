"""Reading partitioned tables: lists month by month, and the months of rows that belong to others.

A list by time that is read from all months at once is planned for all of them, and sorts what it finds. So it
is read from its beginning: one month, one more, then 2, 4, 8, ... of those with rows.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TypeVar

from mirror.core.db.partitions.months import all_months, implied_conditions, months
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import Where

Found = TypeVar("Found")

#: Bounds of all times.
ALL_TIMES = Bounds()


def is_partitioned() -> bool:
    """Return whether tables are partitioned by month, so that it pays to know the times of rows."""
    return bool(months())


def time_bounds(times: Iterable[int]) -> Bounds:
    ordered = sorted(times)
    return Bounds(ordered[0], ordered[-1]) if ordered else ALL_TIMES


def and_months(bounds: Bounds, *columns: str) -> str:
    """Return ` and ...`: the months of times as conditions of columns that equal one with these times.

    PostgreSQL does not conclude them. Nothing if no table is partitioned.
    """
    return "".join(month_conditions(bounds, column).and_sql for column in columns)


def month_conditions(bounds: Bounds, column: str) -> Where:
    """Return the months of times as conditions of a column; none if no table is partitioned."""
    return Where(implied_conditions(column, *_ends(bounds))) if months() else Where()


def by_month(read: Callable[[Bounds], Sequence[Found]], bounds: Bounds, query: Query) -> list[Found]:
    """Return the first rows within bounds; `read` does it for a part of them, up to the limit, in order."""
    rows: list[Found] = []
    for window in windows(bounds, descending=query.descending):
        rows += read(window)
        if len(rows) >= query.limit:
            return rows[: query.limit]
    return rows


def windows(bounds: Bounds, *, descending: bool) -> Iterator[Bounds]:
    """Yield the bounds month by month, later of several months; as they are if no table is partitioned."""
    known = all_months()
    if not known:
        yield bounds
        return
    lower, upper = _ends(bounds)
    overlapping = [
        month
        for month in known
        if (upper is None or month.lower <= upper) and (lower is None or lower < month.upper)
    ]
    if descending:
        overlapping.reverse()
    first, count = 0, 1
    while first < len(overlapping):
        group = overlapping[first : first + count]
        start, end = min(group).lower, max(group).upper
        yield bounds.between(
            start if lower is None else max(start, lower),
            end - 1 if upper is None else min(upper, end - 1),
        )
        first, count = first + count, max(2 * first, 1)


def _ends(bounds: Bounds) -> tuple[int | None, int | None]:
    """Return the smallest and the largest time that bounds allow."""
    if not bounds.equal:
        return bounds.lower, bounds.upper
    first, last = min(bounds.equal), max(bounds.equal)
    lower = first if bounds.lower is None else max(first, bounds.lower)
    upper = last if bounds.upper is None else min(last, bounds.upper)
    return lower, upper
