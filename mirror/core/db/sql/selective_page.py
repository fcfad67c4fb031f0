"""Pages of a selective condition: rows are found by an index in another order than the page's, then sorted.

A list by id with a condition on another column has two ways. If few rows meet the condition, the index of
that column finds them all, and the page is the first of them. If many do, a walk by ids meets enough of them
soon. Which way it is shows while the first one is taken: it ends after `MAX_ROWS` rows.
"""

from mirror.core.db.distribution import is_distributed
from mirror.core.db.reading.sql import NOTHING, Row, Where, fetch
from mirror.core.db.sql.built_indexes import usable_indexes
from mirror.core.db.sql.pair_bounds import Statement
from mirror.core.db.sql.query import Query

#: The most rows that are few.
MAX_ROWS = 5000


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
    if is_distributed():
        return _id_page(selective_ids(candidates, index=index), page, query)
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
    """Return the ids of the candidates; None if they are not few.

    A page of rows that are on several machines is read by these, without a lateral join.
    """
    if index and not usable_indexes([index]):
        return None
    rows = fetch(f"select id from ({candidates.sql} limit {MAX_ROWS + 1:d}) found", candidates.values)
    return None if len(rows) > MAX_ROWS else sorted({number for (number,) in rows})


def _id_page(ids: list[int] | None, page: Statement, query: Query) -> list[Row] | None:
    """Return a page of tables that are whole on the coordinator."""
    if not ids:
        return None if ids is None else []
    statement = f"""
        with few as (select id from unnest(%s::bigint[]) id order by id {query.direction}) {page.sql}
    """
    return fetch(statement, (ids, *page.values))
