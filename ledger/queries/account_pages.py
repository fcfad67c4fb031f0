"""Pages of accounts and contracts by id, whatever conditions they have to meet."""

from collections.abc import Sequence
from typing import NamedTuple

from mirror.core.db.distribution import distributable
from mirror.core.db.reading.query import Bounds, Query, Statement
from mirror.core.db.reading.scans import FIRST_IDS, MAX_ROWS, selective_ids, selective_page, walk
from mirror.core.db.reading.sql import (
    MAX_INT64,
    MIN_INT64,
    NOTHING,
    Comparison,
    Row,
    Where,
    compare,
    fetch,
    fetch_one,
)

IS_ACCOUNT = "type in ('ACCOUNT', 'CONTRACT')"

#: A balance for conditions in a walk by ids, for which PostgreSQL might sort what an index of balances has.
UNINDEXED_BALANCE = "(balance + 0)"

_BALANCE_INDEX = "entity__balance"


class Filters(NamedTuple):
    """Those conditions of a page's query that decide how the page is found."""

    ids: Sequence[Comparison] = ()
    balances: Sequence[Comparison] = ()
    public_keys: Sequence[Comparison] = ()


def page(columns: str, joins: str, query: Query, filters: Filters) -> tuple[list[Row], int | None]:
    """Return a page of the columns of entity e, the first of which is the id.

    With it comes the id after which the next page continues if there was no time to fill this one.
    """
    ids = bounds_of(filters.ids)
    if not filters.balances and not filters.public_keys or is_narrow(ids):
        return _by_id(columns, joins, query), None
    candidates = _candidates(filters)
    index = "" if is_selective(filters.public_keys) else _BALANCE_INDEX
    if candidates:
        met = compare("balance", filters.balances, any_equal=False)
        rows = _page_of_few(columns, joins, query, candidates, index=index, met=met)
        if rows is not None:
            return rows, None
    return walk(
        lambda window: _by_id(columns, joins, query.filter(Bounds(window.lower, window.upper).where("id"))),
        ids,
        query,
        ends=lambda: min_max("entity", "id"),
        first=FIRST_IDS,
    )


@distributable
def _page_of_few(
    columns: str, joins: str, query: Query, candidates: Statement, *, index: str, met: Where
) -> list[Row] | None:
    """Return a page of the candidates that have `met` a condition; None if they are not few."""
    # The candidates in the order of ids, each looked up by the primary key of entity.
    where = Where((IS_ACCOUNT,)) + query.where
    few_rows = f"""
        select e.* from few
        cross join lateral (select * from entity where id = few.id {where.and_sql} limit 1) e
        order by few.id {query.direction} limit {query.limit:d}
    """
    found = Statement(f"select {columns} from ({few_rows}) e {joins}", where.values)
    return selective_page(candidates, found, query, index=index, where=met)


def bounds_of(ids: Sequence[Comparison]) -> Bounds:
    """Return the bounds of ids, which are empty where a name without an id is compared with."""
    if any(value is None for _, value in ids):
        return Bounds(1, 0)
    return Bounds.combine(ids)


def is_narrow(ids: Bounds) -> bool:
    """Return whether the bounds leave so few ids that no other condition needs an index."""
    if ids.equal or ids.empty:
        return True
    return ids.lower is not None and ids.upper is not None and ids.upper - ids.lower < MAX_ROWS


def entities_of_keys(public_keys: Sequence[Comparison], types: str) -> Statement:
    """Return SQL of the ids of a public key; of a range of keys with balances, and of other types, too."""
    # Index: entity__public_key_type_id (public_key, type, id).
    where = compare("public_key", public_keys, any_equal=False)
    if any(operator == "eq" for operator, _ in public_keys):
        return Statement(f"select id from entity {where.sql} and {types}", where.values)
    return Statement(f"select id, balance from entity {where.sql} order by public_key", where.values)


def _candidates(filters: Filters) -> Statement | None:
    """Return the accounts that meet the condition which most likely few do; those of one key come by id."""
    if any(operator == "eq" for operator, _ in filters.public_keys):
        return None
    if is_selective(filters.public_keys):
        return entities_of_keys(filters.public_keys, IS_ACCOUNT)
    if is_selective(filters.balances):
        # Index: entity__balance (balance, id), of accounts and contracts.
        where = compare("balance", filters.balances, any_equal=False) + Where((IS_ACCOUNT,))
        return Statement(f"select id, balance from entity {where.sql} order by balance", where.values)
    return None


def is_selective(comparisons: Sequence[Comparison]) -> bool:
    """Return whether comparisons leave a part of an index."""
    return any(operator != "ne" for operator, _ in comparisons)


@distributable
def _by_id(columns: str, joins: str, query: Query) -> list[Row]:
    # Index: entity__type_id (type, id), or of one key entity__public_key_type_id (public_key, type, id), once
    # per type, so that other entities between are not read. `any` and the order by both columns, as for
    # `type = ...` PostgreSQL may walk the primary key past all others.
    order = f"order by e.id {query.direction}"

    def select_type(entity_type: str, where: Where) -> str:
        return f"""
            select * from entity where type = any('{{{entity_type}}}'::entity_type[]) {where.and_sql}
            order by type {query.direction}, id {query.direction} limit {query.limit:d}
        """

    # No contract after the accounts of a full page is looked at, as there may be none that meets a condition.
    aggregate, operator = ("min", ">") if query.descending else ("max", "<")
    last_id = f"select {aggregate}(id) from account having count(*) = {query.limit:d}"
    after = Where((f"id {operator} coalesce(({last_id}), '{MIN_INT64 if query.descending else MAX_INT64}')",))
    page = f"""
        with account as materialized ({select_type("ACCOUNT", query.where)})
        select * from (select * from account union all ({select_type("CONTRACT", query.where + after)})) e
        {order} limit {query.limit:d}
    """
    return fetch(f"select {columns} from ({page}) e {joins} {order}", query.where.values * 2)


def min_max(table: str, column: str, where: Where = NOTHING) -> tuple[int, int] | None:
    """Return the smallest and the largest value of a column, which an index begins with; None of no rows."""
    row = fetch_one(f"select min({column}), max({column}) from {table} {where.sql}", where.values)
    return None if row is None or row[0] is None else (row[0], row[1])


# WHERE TABLES ARE DISTRIBUTED: ids first, then the rows.


@_page_of_few.distributed
def _distributed_page_of_few(
    columns: str, joins: str, query: Query, candidates: Statement, *, index: str, met: Where
) -> list[Row] | None:
    ids = selective_ids(candidates, index=index)
    if not ids:
        return None if ids is None else []
    where = Where(("id = any(%s)", IS_ACCOUNT), (ids,)) + query.where
    # Index: the primary key (id).
    return _rows(columns, joins, query, _ids(where, "id", query))


@_by_id.distributed
def _distributed_by_id(columns: str, joins: str, query: Query) -> list[Row]:
    # Index: entity__type_id (type, id), once per type.
    ids: list[int] = []
    for entity_type in ("ACCOUNT", "CONTRACT"):
        where = Where((f"type = any('{{{entity_type}}}'::entity_type[])",)) + query.where
        if len(ids) == query.limit:
            # No contract after the accounts of a full page.
            where += Where((f"id {'>' if query.descending else '<'} %s",), (ids[-1],))
        ids += _ids(where, f"type {query.direction}, id", query)
    return _rows(columns, joins, query, sorted(ids, reverse=query.descending)[: query.limit])


def _ids(where: Where, order: str, query: Query) -> list[int]:
    statement = f"select id from entity {where.sql} order by {order} {query.direction} limit {query.limit:d}"
    return [number for (number,) in fetch(statement, where.values)]


def _rows(columns: str, joins: str, query: Query, ids: Sequence[int]) -> list[Row]:
    if not ids:
        return []
    # Index: the primary key (id), on the machines of these ids.
    statement = f"select {columns} from entity e {joins} where e.id = any(%s) order by e.id {query.direction}"
    return fetch(statement, (list(ids),))
