"""Tokens: pages of them, one now, one as it was at a time."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from ledger.queries.account_pages import entities_of_keys, is_selective
from mirror.core.db.distribution import is_distributed
from mirror.core.db.reading.sql import Comparison, Where, compare, fetch, fetch_one
from mirror.core.db.sql.bounds import Bounds
from mirror.core.db.sql.pair_bounds import Statement
from mirror.core.db.sql.query import Query
from mirror.core.db.sql.selective_page import page_of_few
from mirror.core.db.sql.windowed_scan import FIRST_IDS, walk
from tokens.queries.distributed import tokens as distributed
from tokens.queries.listed_tokens import TRIGRAM, ListedToken, Selection

# The first tokens, in order of id, that are searched for a name before the index of names is: more of them if
# that is likely to fill the page, as the index knows all tokens of a common name in no order.
_SEARCHED_FIRST, _SEARCHED_MOST = 1000, 10_000


class _Source(NamedTuple):
    """A from clause of tokens t with their id, in the order of these columns."""

    sql: str
    values: tuple[Any, ...]
    order: Sequence[str] = ("chosen.id",)


# One id at a time, as a join with the whole table would start far below the first id.
_TOKEN_OF_CHOSEN = """
    cross join lateral (select chosen.id, * from token where token_id = chosen.id limit 1) t
"""
_FEW = _Source(f"from few chosen {_TOKEN_OF_CHOSEN}", ())


def tokens(selection: Selection, query: Query) -> tuple[list[ListedToken], int | None]:
    """Return a page of the tokens that have an entity, by id.

    With it comes the id after which the next page continues if there was no time to fill this one.
    """
    if is_distributed():
        page = distributed.tokens(selection, query)
        if page is not None:
            return page, None
    elif is_selective(selection.public_keys):
        rows = _page_of_few(entities_of_keys(selection.public_keys, "type = 'TOKEN'"), selection, query)
        if rows is not None:
            return rows, None
    if selection.names and not is_distributed():
        return _tokens_of_name(selection, query), None
    if not selection.public_keys and (selection.type is None or selection.account_id is None):
        return _by_id(selection, query), None

    def read(window: Bounds) -> list[ListedToken]:
        return _by_id(selection._replace(tokens=[*selection.tokens, *window.ends]), query)

    return walk(read, Bounds.of(selection.tokens), query, ends=_ends, first=FIRST_IDS)


def _by_id(selection: Selection, query: Query) -> list[ListedToken]:
    if is_distributed():
        return distributed.by_id(selection, query)
    if selection.account_id is not None:
        # Index: the primary key (account_id, token_id).
        where = Where(("account_id = %s", "associated"), (selection.account_id,))
        where += compare("token_id", selection.tokens)
        ids = f"select token_id as id from token_account {where.sql}"
        source = _Source(f"from ({ids}) chosen {_TOKEN_OF_CHOSEN}", where.values)
    elif selection.type is not None:
        # Index: token__type_id (type, token_id).
        where = selection.of_type("type") + compare("token_id", selection.tokens)
        typed = f"select token_id as id, * from token {where.sql}"
        source = _Source(f"from ({typed}) t", where.values, ("t.type", "t.id"))
    else:
        # Index: the primary key (token_id).
        where = compare("token_id", selection.tokens)
        source = _Source(f"from (select token_id as id, * from token {where.sql}) t", where.values, ("t.id",))
    return _fetched(_page(source, selection, query))


def _tokens_of_name(selection: Selection, query: Query) -> list[ListedToken]:
    """Return a page of tokens by name: the first ids have common names, the index finds rare ones."""
    page, stored = _search_first(_SEARCHED_FIRST, selection, query)
    likely = len(page) * _SEARCHED_MOST // _SEARCHED_FIRST // 2
    if len(page) < query.limit <= likely and stored > _SEARCHED_FIRST:
        more, _ = _search_first(_SEARCHED_MOST, selection, query, behind=page[-1].token_id)
        page = [*page, *more][: query.limit]
    if len(page) == query.limit:
        return page
    # Index: token__name, trigrams of the name.
    if any(TRIGRAM.search(name) for name in selection.names):
        like = selection.named("name")
        candidates = Statement(f"select token_id as id from token {like.sql}", like.values)
        rows = _page_of_few(candidates, selection, query)
        if rows is not None:
            return rows
    return _by_id(selection, query)


def _search_first(
    most: int, selection: Selection, query: Query, *, behind: int | None = None
) -> tuple[list[ListedToken], int]:
    """Return as much of a page as the first ids have, and about how many tokens there are if it has any.

    `behind` is the id that comes before the first one.
    """
    # Index: the primary key (token_id), or token__type_id (type, token_id).
    columns = ("t.id",) if selection.type is None else ("t.type", "t.id")
    order = ", ".join(f"{column} {query.direction}" for column in columns)
    where = selection.of_type("t.type")
    if behind is not None:
        where += compare("t.id", [Comparison("lt" if query.descending else "gt", behind)])
    first = f"""
        select * from (select token_id as id, * from token) t {where.sql} order by {order} limit {most:d}
    """
    page = _page(_Source(f"from ({first}) t", where.values, columns), selection, query)
    # Statistics of PostgreSQL, which may be old.
    statement = f"""
        select page.*, (select reltuples::bigint from pg_class where oid = 'token'::regclass)
        from ({page.sql}) page order by token_id {query.direction}
    """
    rows = fetch(statement, page.values)
    return [ListedToken(*row[:-1]) for row in rows], rows[0][-1] if rows else 0


def _page_of_few(candidates: Statement, selection: Selection, query: Query) -> list[ListedToken] | None:
    among = compare("t.id", selection.tokens) + _associated("t.id", selection)
    page = _page(_FEW, selection, query, among)
    rows = page_of_few(candidates, page, query)
    return None if rows is None else [ListedToken(*row) for row in rows]


def _page(source: _Source, selection: Selection, query: Query, among: Where | None = None) -> Statement:
    # Index: the primary key of entity (id).
    where = selection.of_type("t.type") + selection.named("t.name") + (among or Where())
    where += selection.having_key("e.public_key")
    order = ", ".join(f"{column} {query.direction}" for column in source.order)
    statement = f"""
        select t.token_id, t.decimals, e.key, t.metadata, t.name, t.symbol, t.type::text
        {source.sql}
        cross join lateral (select key, public_key from entity where id = t.id limit 1) e
        {where.sql}
        order by {order} limit {query.limit:d}
    """
    return Statement(statement, (*source.values, *where.values))


def _fetched(page: Statement) -> list[ListedToken]:
    return [ListedToken(*row) for row in fetch(page.sql, page.values)]


def _ends() -> tuple[int, int] | None:
    # Index: the primary key (token_id).
    row = fetch_one("select min(token_id), max(token_id) from token")
    return None if row is None or row[0] is None else (row[0], row[1])


def _associated(column: str, selection: Selection) -> Where:
    """Return the condition that the account, if one is selected, is associated with the token."""
    if selection.account_id is None:
        return Where()
    # Index: the primary key (account_id, token_id).
    account = f"select from token_account where account_id = %s and token_id = {column} and associated"
    return Where((f"exists ({account})",), (selection.account_id,))


Fees = list[dict[str, Any]]


class Token(NamedTuple):
    """One token with its entity and its custom fees; each has a version that started `..._since` (ns)."""

    created_timestamp: int
    decimals: int
    fee_schedule_key: bytes | None
    freeze_default: bool
    freeze_key: bytes | None
    initial_supply: int
    kyc_key: bytes | None
    max_supply: int
    metadata: bytes | None
    metadata_key: bytes | None
    name: str
    pause_key: bytes | None
    pause_status: str
    supply_key: bytes | None
    supply_type: str
    symbol: str
    token_id: int
    total_supply: int
    treasury_account_id: int
    type: str
    wipe_key: bytes | None
    token_since: int
    auto_renew_account_id: int | None
    auto_renew_period: int | None
    deleted: bool | None
    expiration_timestamp: int | None
    admin_key: bytes | None
    memo: str
    entity_since: int
    fixed_fees: Fees | None
    fractional_fees: Fees | None
    royalty_fees: Fees | None
    fees_since: int


class _Part(NamedTuple):
    """A table that holds a part of a token, with {table}_history: its key and columns."""

    table: str
    key: str
    columns: tuple[str, ...]


_TOKEN = _Part("token", "token_id", Token._fields[: Token._fields.index("token_since")])
_ENTITY = _Part(
    "entity",
    "id",
    ("auto_renew_account_id", "auto_renew_period", "deleted", "expiration_timestamp", "key", "memo"),
)
_FEES = _Part("custom_fee", "entity_id", ("fixed_fees", "fractional_fees", "royalty_fees"))


def token(token_id: int) -> Token | None:
    """Return the token as it is now; None if its entity or its custom fees are not known."""
    # Index: the primary keys.
    return _token(_NOW, (token_id,))


def token_at(token_id: int, until: Comparison) -> Token | None:
    """Return the same from the latest version of each part that started before (lt) or by (lte) a time."""
    since = compare("lower(timestamp_range)", [until])
    return _token([_version(part, since) for part in _PARTS], (token_id, *since.values) * 2)


_PARTS = (_TOKEN, _ENTITY, _FEES)
_ENUMS = ("pause_status", "supply_type", "type")


def _token(parts: Sequence[str], values: tuple[Any, ...]) -> Token | None:
    joined = " cross join ".join(f"({part}) part{number}" for number, part in enumerate(parts))
    row = fetch_one(f"select * from {joined}", values * len(parts))
    return None if row is None else Token(*row)


def _select(part: _Part, table: str) -> str:
    columns = ", ".join(f"{name}::text" if name in _ENUMS else name for name in part.columns)
    return f"select {columns}, lower(timestamp_range) as since from {table} where {part.key} = %s"


def _version(part: _Part, since: Where) -> str:
    # Indexes: the primary key, and in the history the key and lower(timestamp_range).
    return f"""
        select * from (
            ({_select(part, part.table)} {since.and_sql})
            union all
            (
                {_select(part, f"{part.table}_history")} {since.and_sql}
                order by lower(timestamp_range) desc limit 1
            )
        ) version
        order by since desc limit 1
    """


# Put together once, as it took an eighth of a short request.
_NOW = [_select(part, part.table) for part in _PARTS]
