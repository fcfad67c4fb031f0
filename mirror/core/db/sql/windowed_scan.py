"""Walks: a list by time or by id that may take too long at once is read in windows of its key.

Most lists are one statement that stops when its page is full. If few rows match, that statement would look at
more rows than there is time for. Then the list is read in windows from its beginning, each twice as wide as
the one before, until the page is full or the budget is spent. What is returned then is a page that may be
short, or empty, and the key up to which all rows have been seen: the next page continues there. The first
window is read to its end, so that each page comes further than the one before.
"""

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TypeVar

import psycopg

from mirror.core.db.partitions.reading import by_month
from mirror.core.db.reading import budget
from mirror.core.db.sql.bounds import Bounds
from mirror.core.db.sql.query import Query

Found = TypeVar("Found")

# A window that takes less than this part of the budget is followed by one twice as wide.
_SHORT = 0.1

#: Nanoseconds of the first window of a list by consensus timestamp.
FIRST_NANOS = 1_000_000_000
#: Ids in the first window of a list by id.
FIRST_IDS = 1000


def walk(
    read: Callable[[Bounds], Sequence[Found]],
    bounds: Bounds,
    query: Query,
    *,
    ends: Callable[[], tuple[int, int] | None],
    first: int,
) -> tuple[list[Found], int | None]:
    """Return a page, and the key after which the next one continues if time ran out before this one was full.

    `read` returns the first rows within bounds, up to the query's limit, in its order. `ends` returns the
    smallest and the largest key there is, None if there is none. `first` is the width of the first window.
    Errors: psycopg.errors.QueryCanceled if that window takes longer than any statement may.
    """
    total = budget.total()
    # A link can't move on from a named or an excluded value.
    if first == FIRST_NANOS and not bounds.equal:
        # Where tables are partitioned by month.
        read = partial(by_month, read, query=query)
    if not total or bounds.equal or bounds.unequal or bounds.empty:
        return list(read(bounds)), None
    share = budget.share()
    try:
        with budget.limited(share):
            return list(read(bounds)), None
    except psycopg.errors.QueryCanceled:
        pass
    until = time.monotonic() + max(budget.remaining(), share)
    extremes = ends()
    if extremes is None:
        return [], None
    remaining = _clamp(bounds, *extremes)
    rows: list[Found] = []
    width, is_first = first, True
    while not remaining.empty:
        window, following = split_window(remaining, width, descending=query.descending)
        began = time.monotonic()
        try:
            with nullcontext() if is_first else budget.limited(share):
                rows += read(window)
        except psycopg.errors.QueryCanceled:
            if is_first:
                raise
            break
        if len(rows) >= query.limit:
            return rows[: query.limit], None
        remaining, is_first = following, False
        now = time.monotonic()
        if now >= until:
            break
        if now - began < total * _SHORT:
            width *= 2
    if remaining.empty:
        return rows, None
    return rows, _before(remaining, descending=query.descending)


def split_window(bounds: Bounds, width: int, *, descending: bool) -> tuple[Bounds, Bounds]:
    """Return the first `width` keys of a range that has two ends, in this order, and the rest."""
    assert bounds.lower is not None and bounds.upper is not None
    if descending:
        edge = max(bounds.lower, bounds.upper - width + 1)
        return bounds.between(edge, bounds.upper), bounds.between(bounds.lower, edge - 1)
    edge = min(bounds.upper, bounds.lower + width - 1)
    return bounds.between(bounds.lower, edge), bounds.between(edge + 1, bounds.upper)


def _clamp(bounds: Bounds, smallest: int, largest: int) -> Bounds:
    lower = smallest if bounds.lower is None else max(bounds.lower, smallest)
    upper = largest if bounds.upper is None else min(bounds.upper, largest)
    return bounds.between(lower, upper)


def _before(remaining: Bounds, *, descending: bool) -> int:
    """Return the last key before a range, in this order."""
    assert remaining.lower is not None and remaining.upper is not None
    return remaining.upper + 1 if descending else remaining.lower - 1
