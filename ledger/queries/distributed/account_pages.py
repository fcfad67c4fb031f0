"""Pages of accounts and contracts where tables are distributed: ids first, then the rows."""

from collections.abc import Sequence

from mirror.core.db.reading.sql import Row, Where, fetch
from mirror.core.db.sql.pair_bounds import Statement
from mirror.core.db.sql.query import Query
from mirror.core.db.sql.selective_page import few_ids


def page_of_few(
    columns: str, joins: str, query: Query, candidates: Statement, *, index: str
) -> list[Row] | None:
    """Return a page of the candidates; None if they are not few."""
    ids = few_ids(candidates, index=index)
    if not ids:
        return None if ids is None else []
    where = Where(("id = any(%s)",), (ids,)) + query.where
    # Index: the primary key (id).
    return _rows(columns, joins, query, _ids(where, "id", query))


def by_id(columns: str, joins: str, query: Query) -> list[Row]:
    # Index: entity__type_id (type, id), once per type.
    ids: list[int] = []
    for kind in ("ACCOUNT", "CONTRACT"):
        where = Where((f"type = any('{{{kind}}}'::entity_type[])",)) + query.where
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
