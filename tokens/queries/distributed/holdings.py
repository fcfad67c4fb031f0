"""The holders of a token where tables are distributed."""

from mirror.core.db.reading.sql import Row, Where, fetch
from mirror.core.db.sql.pair_bounds import Statement
from mirror.core.db.sql.query import Query
from mirror.core.db.sql.selective_page import few_ids


def page_of_few(where: Where, query: Query, candidates: Statement, *, index: str) -> list[Row] | None:
    """Return a page of the candidates that meet the conditions; None if they are not few."""
    ids = few_ids(candidates, index=index)
    if not ids:
        return None if ids is None else []
    # Index: the primary key (account_id, token_id).
    where = Where(("account_id = any(%s)",), (ids,)) + where
    statement = f"""
        select account_id, balance, balance_timestamp from token_account {where.sql}
        order by account_id {query.direction} limit {query.limit:d}
    """
    return fetch(statement, where.values)
