"""Pages of tokens where tables are distributed: a token is on the machine of its entity."""

from collections.abc import Sequence

from ledger.queries.account_pages import entities_of_keys, is_selective
from mirror.core.db.reading.sql import Where, compare, fetch
from mirror.core.db.sql.pair_bounds import Statement
from mirror.core.db.sql.query import Query
from mirror.core.db.sql.selective_page import few_ids
from tokens.queries.listed_tokens import TRIGRAM, ListedToken, Selection


def tokens(selection: Selection, query: Query) -> list[ListedToken] | None:
    """Return a page of the tokens of a key or name; None if they are many, or without such a choice."""
    candidates = []
    if is_selective(selection.public_keys):
        candidates.append(entities_of_keys(selection.public_keys, "type = 'TOKEN'"))
    if any(TRIGRAM.search(name) for name in selection.names):
        # Index: token__name, trigrams of the name.
        like = selection.named("name")
        candidates.append(Statement(f"select token_id as id from token {like.sql}", like.values))
    for candidate in candidates:
        ids = few_ids(candidate)
        if ids is not None:
            return _page(Where(("t.token_id = any(%s)",), (ids,)), selection, query)
    return None


def by_id(selection: Selection, query: Query) -> list[ListedToken]:
    # Index: the primary key (token_id), or token__type_id (type, token_id).
    return _page(Where(), selection, query)


def _page(where: Where, selection: Selection, query: Query) -> list[ListedToken]:
    if selection.account_id is not None:
        where += Where(("t.token_id = any(%s)",), (_associated(selection),))
    where += compare("t.token_id", selection.tokens) + selection.of_type("t.type")
    where += selection.named("t.name") + selection.having_key("e.public_key")
    statement = f"""
        select t.token_id, t.decimals, e.key, t.metadata, t.name, t.symbol, t.type::text
        from token t join entity e on e.id = t.token_id {where.sql}
        order by t.token_id {query.direction} limit {query.limit:d}
    """
    return [ListedToken(*row) for row in fetch(statement, where.values)]


def _associated(selection: Selection) -> Sequence[int]:
    """Return the tokens that an account is associated with."""
    # Index: the primary key (account_id, token_id).
    where = Where(("account_id = %s", "associated"), (selection.account_id,))
    where += compare("token_id", selection.tokens)
    return [token for (token,) in fetch(f"select token_id from token_account {where.sql}", where.values)]
