"""Ways to read a page that a single statement along one index would take too long for."""

import time
from collections.abc import Callable, Collection, Sequence
from contextlib import nullcontext
from functools import partial
from typing import TypeVar

import psycopg

from mirror.core.db.distribution import distributable
from mirror.core.db.reading import budget
from mirror.core.db.reading.by_month import by_month
from mirror.core.db.reading.query import Bounds, Query, Statement
from mirror.core.db.reading.sql import NOTHING, Row, Where, fetch

Found = TypeVar("Found")


# WALKS
#
# Most lists are one statement that stops when its page is full. Where few rows match, it would look at more
# rows than there is time for. Then the list is read in windows of its key, each twice as wide as the one
# before, until the page is full or the budget is spent. The page may be short, or empty; the next one
# continues at the key up to which all rows have been seen. The first window is read to its end, so that each
# page comes further.

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


# STEPS
#
# Lists that skip rows, such as slots without a value at a time. A step looks at one row of the list's index,
# whether or not it belongs to the page.

#: The steps of one statement, which takes a few milliseconds.
STEPS = 1000


def scan_stepwise(
    read: Callable[[bytes | None], tuple[Sequence[Found], bytes | None]], limit: int
) -> tuple[list[Found], bytes | None]:
    """Return a page, and the key after which the next one continues if time ran out before this one was full.

    `read` returns the rows among the next steps after a key, up to the limit, and the last key it looked at;
    None instead of that at the end of the list.
    """
    rows: list[Found] = []
    after: bytes | None = None
    while True:
        found, after = read(after)
        rows += found
        if len(rows) >= limit or after is None:
            return rows[:limit], None
        if budget.total() and budget.remaining() <= 0:
            return rows, after


# BUILT INDEXES
#
# An index may be missing: on a table with rows `manage.py upgrade` builds it during use.

# Missing indexes are looked for again after this time.
_SECONDS_BETWEEN_CHECKS = 60.0

_usable: set[str] = set()
_missing: dict[str, float] = {}  # when it is looked for again


def usable_indexes(indexes: Collection[str]) -> set[str]:
    """Return the indexes that can be used, looked up until all are there. Errors: psycopg.Error."""
    now = time.monotonic()
    unknown = [index for index in indexes if index not in _usable and _missing.get(index, now) <= now]
    if unknown:
        rows = fetch(
            """
            select name from unnest(%s::text[]) name
            join pg_index i on i.indexrelid = to_regclass(name) where i.indisvalid
            """,
            (unknown,),
        )
        _missing.update(dict.fromkeys(unknown, now + _SECONDS_BETWEEN_CHECKS))
        _usable.update(name for (name,) in rows)
    return _usable.intersection(indexes)


def forget_indexes() -> None:
    """Look for every index again."""
    _usable.clear()
    _missing.clear()


# SELECTIVE PAGES
#
# A list by id with a condition on another column has two ways. If few rows meet the condition, the index of
# that column finds them all, and they are sorted. If many do, a walk by ids soon meets enough of them. The
# first way is tried, and ends after `MAX_ROWS` rows.

#: The most rows that are few.
MAX_ROWS = 5000


@distributable
def selective_page(
    candidates: Statement, page: Statement, query: Query, *, index: str = "", where: Where = NOTHING
) -> list[Row] | None:
    """Return a page of the candidates in the order of its first column; None if they are not few.

    `candidates` selects their `id`, which may come several times, in the order of an index. It leaves out the
    conditions that the index lacks: no more than MAX_ROWS entries are read. `where` has those on its other
    columns, which spare looking up the rest. `page` selects from `few`, the candidates in the order of the
    page, by `cross join lateral (... limit 1)` or an array: a join might read all rows. `index` names the
    index of the candidates if it may not be there, as it is built during use; without it none is known.
    """
    is_built = f"""
        select coalesce(
            (select indisvalid from pg_index where indexrelid = to_regclass('{index}')), false) as is_built
    """
    there = "where (select is_built from built)" if index else ""
    count = "case when (select is_built from built) then count(*) end" if index else "count(*)"
    statement = f"""
        with {f"built as materialized ({is_built})," if index else ""}
            candidate as materialized (
                select * from ({candidates.sql} limit {MAX_ROWS + 1:d}) found {there}
            ), number as materialized (
                select {count} as number from candidate
            ), few as (
                select distinct id from candidate where (select number from number) <= {MAX_ROWS:d}
                {where.and_sql} order by id {query.direction}
            )
        select number.number, page.* from number left join ({page.sql}) page on true
        order by 2 {query.direction}
    """
    rows = fetch(statement, (*candidates.values, *where.values, *page.values))
    number = rows[0][0]
    if number is None or number > MAX_ROWS:
        return None
    return [row[1:] for row in rows if row[1] is not None]


# WHERE TABLES ARE DISTRIBUTED


def selective_ids(candidates: Statement, *, index: str = "") -> list[int] | None:
    """Return the ids of the candidates, for a page without a lateral join; None if they are not few."""
    if index and not usable_indexes([index]):
        return None
    rows = fetch(f"select id from ({candidates.sql} limit {MAX_ROWS + 1:d}) found", candidates.values)
    return None if len(rows) > MAX_ROWS else sorted({number for (number,) in rows})


@selective_page.distributed
def _id_page(
    candidates: Statement, page: Statement, query: Query, *, index: str = "", where: Where = NOTHING
) -> list[Row] | None:
    """Return a page of tables that are whole on the coordinator."""
    ids = selective_ids(candidates, index=index)
    if not ids:
        return None if ids is None else []
    statement = f"""
        with few as (select id from unnest(%s::bigint[]) id order by id {query.direction}) {page.sql}
    """
    return fetch(statement, (ids, *page.values))


# LOOSE INDEX SCANS: an index is skipped along from each value to the next.


@distributable
def distinct_values(
    table: str, column: str, bounds: Bounds, limit: int, *, where: Where = NOTHING
) -> list[int] | None:
    """Return the different values of a column in a range, by an index of `where` and it; None if too many."""
    first = where + bounds.where(column)
    following = first + Where((f"{column} > known.value",))
    rows = fetch(
        f"""
        with recursive known (value) as (
            (select {column} from {table} {first.sql} order by {column} limit 1)
            union all
            select (select {column} from {table} {following.sql} order by {column} limit 1)
            from known where known.value is not null
        )
        select value from known where value is not null limit {limit + 1:d}
        """,
        (*first.values, *following.values),
    )
    return None if len(rows) > limit else [value for (value,) in rows]


@distinct_values.distributed
def _values_of_all_machines(
    table: str, column: str, bounds: Bounds, limit: int, *, where: Where = NOTHING
) -> list[int] | None:
    first = where + bounds.where(column)
    rows = fetch(
        f"select distinct {column} as value from {table} {first.sql} order by value limit {limit + 1:d}",
        first.values,
    )
    return None if len(rows) > limit else [value for (value,) in rows if value is not None]
