"""Tokens: pages of them, one now, one as it was at a time."""

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any, NamedTuple

from django.db import models

from ledger.models import CustomFee, Entity
from ledger.queries.account_pages import entities_of_keys, is_selective, min_max
from ledger.queries.versions_at import latest_version
from mirror.core.db.distribution import distributable
from mirror.core.db.reading.query import Bounds, Query, Statement
from mirror.core.db.reading.scans import FIRST_IDS, selective_ids, selective_page, walk
from mirror.core.db.reading.sql import Comparison, Row, Where, compare, fetch, fetch_one
from tokens.models import Token

# A pattern without this part is no help to the index of names.
_TRIGRAM = re.compile(r"[^\W_]{3}")


class TokenSelection(NamedTuple):
    """The choice of a page's tokens.

    `names` are patterns for ILIKE, which must all match. `account_id` is an account associated with them.
    """

    tokens: Sequence[Comparison] = ()
    type: str | None = None
    names: Sequence[str] = ()
    public_keys: Sequence[Comparison] = ()
    account_id: int | None = None

    def type_condition(self, column: str) -> Where:
        """Return the condition of the type, if one is selected.

        `any`, as for `type = ...` PostgreSQL may walk the primary key past tokens of the other type.
        """
        return Where((f"{column} = any('{{{self.type}}}'::token_type[])",)) if self.type else Where()

    def named(self, column: str) -> Where:
        return Where((f"{column} ilike %s",) * len(self.names), tuple(self.names))

    def having_key(self, column: str) -> Where:
        return compare(column, self.public_keys, any_equal=False)

    @property
    def account_tokens(self) -> Statement:
        """The tokens that the account is associated with."""
        # Index: the primary key (account_id, token_id).
        where = Where(("account_id = %s", "associated"), (self.account_id,))
        where += compare("token_id", self.tokens)
        return Statement(f"select token_id as id from token_account {where.sql}", where.values)

    @property
    def candidates(self) -> Statement | None:
        """The tokens of the names; None if these are no help to the index."""
        if not any(_TRIGRAM.search(name) for name in self.names):
            return None
        # Index: token__name, trigrams of the name.
        like = self.named("name")
        return Statement(f"select token_id as id from token {like.sql}", like.values)


class ListedToken(NamedTuple):
    token_id: int
    decimals: int
    admin_key: bytes | None
    metadata: bytes | None
    name: str
    symbol: str
    type: str


_COLUMNS = "t.token_id, t.decimals, e.key, t.metadata, t.name, t.symbol, t.type::text"


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


def tokens(selection: TokenSelection, query: Query) -> tuple[list[ListedToken], int | None]:
    """Return a page of the tokens that have an entity, by id.

    With it comes the id after which the next page continues if there was no time to fill this one.
    """
    page = _selected_tokens(selection, query)
    if page is not None:
        return page, None
    if not selection.public_keys and (selection.type is None or selection.account_id is None):
        return _by_id(selection, query), None

    def read(window: Bounds) -> list[ListedToken]:
        return _by_id(selection._replace(tokens=[*selection.tokens, *window.ends]), query)

    return walk(
        read,
        Bounds.combine(selection.tokens),
        query,
        ends=lambda: min_max("token", "token_id"),
        first=FIRST_IDS,
    )


@distributable
def _selected_tokens(selection: TokenSelection, query: Query) -> list[ListedToken] | None:
    """Return a page of the tokens of a key or name; None if they are many, or without such a choice."""
    if is_selective(selection.public_keys):
        rows = _page_of_few(entities_of_keys(selection.public_keys, "type = 'TOKEN'"), selection, query)
        if rows is not None:
            return rows
    return _tokens_of_name(selection, query) if selection.names else None


@distributable
def _by_id(selection: TokenSelection, query: Query) -> list[ListedToken]:
    if selection.account_id is not None:
        ids, values = selection.account_tokens
        source = _Source(f"from ({ids}) chosen {_TOKEN_OF_CHOSEN}", values)
    elif selection.type is not None:
        # Index: token__type_id (type, token_id).
        where = selection.type_condition("type") + compare("token_id", selection.tokens)
        typed = f"select token_id as id, * from token {where.sql}"
        source = _Source(f"from ({typed}) t", where.values, ("t.type", "t.id"))
    else:
        # Index: the primary key (token_id).
        where = compare("token_id", selection.tokens)
        source = _Source(f"from (select token_id as id, * from token {where.sql}) t", where.values, ("t.id",))
    return _fetched(_page(source, selection, query))


def _tokens_of_name(selection: TokenSelection, query: Query) -> list[ListedToken]:
    """Return a page of tokens by name: the first ids have common names, the index finds rare ones."""
    page, stored = _search_first(_SEARCHED_FIRST, selection, query)
    likely = len(page) * _SEARCHED_MOST // _SEARCHED_FIRST // 2
    if len(page) < query.limit <= likely and stored > _SEARCHED_FIRST:
        more, _ = _search_first(_SEARCHED_MOST, selection, query, behind=page[-1].token_id)
        page = [*page, *more][: query.limit]
    if len(page) == query.limit:
        return page
    if candidates := selection.candidates:
        rows = _page_of_few(candidates, selection, query)
        if rows is not None:
            return rows
    return _by_id(selection, query)


def _search_first(
    most: int, selection: TokenSelection, query: Query, *, behind: int | None = None
) -> tuple[list[ListedToken], int]:
    """Return as much of a page as the first ids have, and about how many tokens there are if it has any.

    `behind` is the id that comes before the first one.
    """
    # Index: the primary key (token_id), or token__type_id (type, token_id).
    columns = ("t.id",) if selection.type is None else ("t.type", "t.id")
    order = ", ".join(f"{column} {query.direction}" for column in columns)
    where = selection.type_condition("t.type")
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


def _page_of_few(candidates: Statement, selection: TokenSelection, query: Query) -> list[ListedToken] | None:
    among = compare("t.id", selection.tokens) + _associated("t.id", selection)
    page = _page(_FEW, selection, query, among)
    rows = selective_page(candidates, page, query)
    return None if rows is None else [ListedToken(*row) for row in rows]


def _page(source: _Source, selection: TokenSelection, query: Query, among: Where | None = None) -> Statement:
    # Index: the primary key of entity (id).
    where = selection.type_condition("t.type") + selection.named("t.name") + (among or Where())
    where += selection.having_key("e.public_key")
    order = ", ".join(f"{column} {query.direction}" for column in source.order)
    statement = f"""
        select {_COLUMNS}
        {source.sql}
        cross join lateral (select key, public_key from entity where id = t.id limit 1) e
        {where.sql}
        order by {order} limit {query.limit:d}
    """
    return Statement(statement, (*source.values, *where.values))


def _fetched(page: Statement) -> list[ListedToken]:
    return [ListedToken(*row) for row in fetch(page.sql, page.values)]


def _associated(column: str, selection: TokenSelection) -> Where:
    """Return the condition that the account, if one is selected, is associated with the token."""
    if selection.account_id is None:
        return Where()
    # Index: the primary key (account_id, token_id).
    account = f"select from token_account where account_id = %s and token_id = {column} and associated"
    return Where((f"exists ({account})",), (selection.account_id,))


# LISTS WHERE TABLES ARE DISTRIBUTED: a token is on the machine of its entity.


@_selected_tokens.distributed
def _distributed_selected(selection: TokenSelection, query: Query) -> list[ListedToken] | None:
    of_keys = None
    if is_selective(selection.public_keys):
        of_keys = entities_of_keys(selection.public_keys, "type = 'TOKEN'")
    for candidates in filter(None, (of_keys, selection.candidates)):
        ids = selective_ids(candidates)
        if ids is not None:
            return _distributed_page(Where(("t.token_id = any(%s)",), (ids,)), selection, query)
    return None


@_by_id.distributed
def _distributed_by_id(selection: TokenSelection, query: Query) -> list[ListedToken]:
    # Index: the primary key (token_id), or token__type_id (type, token_id).
    return _distributed_page(Where(), selection, query)


def _distributed_page(where: Where, selection: TokenSelection, query: Query) -> list[ListedToken]:
    if selection.account_id is not None:
        where += Where(("t.token_id = any(%s)",), ([token for (token,) in fetch(*selection.account_tokens)],))
    where += compare("t.token_id", selection.tokens) + selection.type_condition("t.type")
    where += selection.named("t.name") + selection.having_key("e.public_key")
    statement = f"""
        select {_COLUMNS}
        from token t join entity e on e.id = t.token_id {where.sql}
        order by t.token_id {query.direction} limit {query.limit:d}
    """
    return [ListedToken(*row) for row in fetch(statement, where.values)]


# ONE TOKEN

# The tables that hold a part of a token, each with a history table: alias -> model.
_PARTS: dict[str, type[models.Model]] = {"t": Token, "e": Entity, "f": CustomFee}


def token(columns: str, token_id: int, until: Comparison | None) -> Row | None:
    """Return columns of token t, entity e and custom_fee f, each with the start of its version as `since`.

    With `until`, of the latest version of each part that started before (lt) or by (lte) a time. None if one
    of the parts is not known.
    """
    if until is None:
        return fetch_one(_now(columns), (token_id,) * len(_PARTS))
    since = compare("lower(timestamp_range)", [until])
    versions = (
        latest_version(model._meta.db_table, _columns(model), f"{_of_id(model)} {since.and_sql}")
        for model in _PARTS.values()
    )
    return fetch_one(_joined(columns, versions), (token_id, *since.values) * 2 * len(_PARTS))


@cache
def _now(columns: str) -> str:
    # Put together once, as it takes an eighth of a short request. Index: the primary keys.
    parts = (
        f"select *, lower(timestamp_range) as since from {model._meta.db_table} {_of_id(model)}"
        for model in _PARTS.values()
    )
    return _joined(columns, parts)


def _joined(columns: str, parts: Iterable[str]) -> str:
    joined = (f"({part}) {alias}" for part, alias in zip(parts, _PARTS, strict=True))
    return f"select {columns} from {' cross join '.join(joined)}"


def _columns(model: type[models.Model]) -> str:
    return ", ".join(field.column for field in model._meta.concrete_fields if field.column)


def _of_id(model: type[models.Model]) -> str:
    return f"where {model._meta.pk.column} = %s"
