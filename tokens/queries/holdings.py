"""The holders of a token, now and at the time of a snapshot.

Each list returns a page, and the account after which the next page continues if there was no time to fill it.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.queries.account_pages import (
    UNINDEXED_BALANCE,
    bounds_of,
    entities_of_keys,
    is_narrow,
    is_selective,
    min_max,
)
from ledger.queries.balances import Window
from mirror.core.db.distribution import distributable
from mirror.core.db.reading.query import Bounds, Query, Statement
from mirror.core.db.reading.scans import FIRST_IDS, selective_ids, selective_page, walk
from mirror.core.db.reading.sql import NOTHING, Comparison, Row, Where, compare, fetch, fetch_one

_BALANCE_INDEX = "token_account__token_balance_account"
_PAST_BALANCE_INDEX = "token_balance__token_balance_account"


class Holders(NamedTuple):
    """The choice of a page's holders. `public_key` selects accounts that have it now."""

    token_id: int
    accounts: Sequence[Comparison] = ()
    balances: Sequence[Comparison] = ()
    public_key: str | None = None

    @property
    def token_condition(self) -> Where:
        return compare("token_id", [Comparison("eq", self.token_id)])

    @property
    def with_balance(self) -> Where:
        return compare("balance", self.balances, any_equal=False)

    def among(self, column: str, window: Bounds | None = None) -> Where:
        """Return the condition of the selected accounts within a window."""
        where = compare(column, self.accounts, any_equal=False)
        return where + Bounds(window.lower, window.upper).where(column) if window else where


class Holding(NamedTuple):
    account_id: int
    balance: int
    balance_timestamp: int | None
    decimals: int | None


Holdings = tuple[list[Holding], int | None]


# NOW


def holders_now(selection: Holders, query: Query) -> Holdings:
    """Return a page of the accounts associated with the token, with the time of each balance."""
    ids = bounds_of(selection.accounts)
    if selection.public_key is None and (not selection.balances or is_narrow(ids)):
        return _fetched(_holders(selection, None, query), selection, query), None
    # Index: token_account__token_balance_account (token_id, balance, account_id).
    candidates = _candidates("token_account", selection.token_condition, selection)
    index = "" if selection.public_key else _BALANCE_INDEX
    if candidates and (holdings := _few_holders(candidates, selection, query, index)) is not None:
        return holdings, None
    # Index: token_account__token_id_account_id (token_id, account_id).
    return walk(
        lambda window: _fetched(_holders(selection, window, query), selection, query),
        ids,
        query,
        ends=lambda: min_max("token_account", "account_id", selection.token_condition),
        first=FIRST_IDS,
    )


@distributable
def _few_holders(candidates: Statement, selection: Holders, query: Query, index: str) -> list[Holding] | None:
    # From each page of the index PostgreSQL goes on to the next account that is not before it, so few holders
    # are read once, however many ids.
    among = Where(("account_id = any(array(select id from few))",))
    page = _holders(selection._replace(public_key=None), None, query, among)
    rows = selective_page(candidates, _with_decimals(page, selection, query), query, index=index)
    return None if rows is None else [Holding(*row) for row in rows]


@_few_holders.distributed
def _distributed_few_holders(
    candidates: Statement, selection: Holders, query: Query, index: str
) -> list[Holding] | None:
    known = selective_ids(candidates, index=index)
    if known is None:
        return None
    among = Where(("account_id = any(%s)",), (known,))
    return _fetched(_holders(selection._replace(public_key=None), None, query, among), selection, query)


def _holders(selection: Holders, window: Bounds | None, query: Query, among: Where = NOTHING) -> Statement:
    # Index: token_account__token_id_account_id (token_id, account_id).
    where = selection.token_condition + Where(("associated",)) + selection.among("account_id", window) + among
    where += compare(UNINDEXED_BALANCE, selection.balances, any_equal=False) + _having_key(selection)
    page = f"""
        select account_id, balance, balance_timestamp from token_account {where.sql}
        order by token_id {query.direction}, account_id {query.direction} limit {query.limit:d}
    """
    return Statement(page, where.values)


@distributable
def _past_having_key(selection: Holders) -> Where:
    return _having_key(selection)


@_past_having_key.distributed
def _distributed_past_having_key(selection: Holders) -> Where:
    # Balances are not on the machines of their accounts.
    if selection.public_key is None:
        return Where()
    ids = entities_of_keys([Comparison("eq", selection.public_key)], "type = 'ACCOUNT'")
    return Where((f"account_id in (select id from ({ids.sql}) account)",), ids.values)


def _having_key(selection: Holders) -> Where:
    """Return the condition that an account has the public key, checked one account at a time."""
    if selection.public_key is None:
        return Where()
    # Index: the primary key (id). A scalar, as PostgreSQL might answer `exists` by all accounts of the key.
    key = "(select public_key from entity where id = account_id and type = 'ACCOUNT') = %s"
    return Where((key,), (selection.public_key,))


# AT A TIME


def holders_at(selection: Holders, snapshot: Window, query: Query) -> Holdings:
    """Return a page of the accounts in the window's snapshots, each with the balance of its latest row."""
    rows = selection.token_condition + snapshot.rows
    ids = bounds_of(selection.accounts)
    if selection.public_key is None and not selection.balances:
        return _fetched(_known_holders(selection, rows, query), selection, query), None
    if candidates := _candidates_at(selection, snapshot):
        # Index: token_balance__token_account_timestamp (token_id, account_id, consensus_timestamp), for one
        # account at a time.
        among = selection.among("id")
        page = _latest_of(Statement(f"select id from few {among.sql}", among.values), selection, rows, query)
        index = "" if selection.public_key is not None else _PAST_BALANCE_INDEX
        few = _few_holders_at(candidates, page, selection, query, index)
        if few is not None:
            return few, None

    def read(window: Bounds | None) -> list[Holding]:
        return _fetched(_latest_within(selection, rows, window, query), selection, query)

    if is_narrow(ids):
        return read(None), None
    # Index: the same.
    return walk(read, ids, query, ends=lambda: min_max("token_balance", "account_id", rows), first=FIRST_IDS)


@distributable
def _few_holders_at(
    candidates: Statement, page: Statement, selection: Holders, query: Query, index: str
) -> list[Holding] | None:
    rows = selective_page(candidates, _with_decimals(page, selection, query), query, index=index)
    return None if rows is None else [Holding(*row) for row in rows]


@_few_holders_at.distributed
def _distributed_few_holders_at(
    candidates: Statement, page: Statement, selection: Holders, query: Query, index: str
) -> list[Holding] | None:
    rows = selective_page(candidates, page, query, index=index)
    return None if rows is None else _with_known_decimals(rows, selection)


def balances_at(account_id: int, token_ids: Sequence[int], snapshot: Window) -> dict[int, int]:
    """Return an account's balances of tokens in the window's snapshots, without those that none has."""
    # Index: token_balance__token_account_timestamp (token_id, account_id, consensus_timestamp).
    statement = f"""
        select token.id, latest.balance from unnest(%s::bigint[]) token (id) cross join lateral (
            select balance from token_balance {snapshot.rows.sql} and account_id = %s and token_id = token.id
            order by consensus_timestamp desc limit 1
        ) latest
    """
    return dict(fetch(statement, (list(token_ids), *snapshot.rows.values, account_id)))


def _candidates_at(selection: Holders, snapshot: Window) -> Statement | None:
    if selection.public_key is None and is_narrow(bounds_of(selection.accounts)):
        return None
    # Index: token_balance__token_balance_account (token_id, balance, account_id), in the snapshots of the
    # month, among which a later one may have replaced the balance.
    return _candidates("token_balance", selection.token_condition + snapshot.month_rows, selection)


def _latest_within(selection: Holders, rows: Where, window: Bounds | None, query: Query) -> Statement:
    # Index: token_balance__token_account_timestamp (token_id, account_id, consensus_timestamp), in its order
    # until the page is full: a balance is known only once the account's latest row is.
    where = rows + selection.among("account_id", window)
    narrowed = selection.with_balance + _past_having_key(selection)
    page = f"""
        select * from (
            select distinct on (account_id) account_id, balance, null::bigint as balance_timestamp
            from token_balance {where.sql}
            order by account_id {query.direction}, consensus_timestamp desc
        ) latest {narrowed.sql} order by account_id {query.direction} limit {query.limit:d}
    """
    return Statement(page, where.values + narrowed.values)


def _latest_of(known: Statement, selection: Holders, rows: Where, query: Query) -> Statement:
    """Return SQL of the page of the ids that `known` selects."""
    narrowed = selection.with_balance
    page = f"""
        select known.id as account_id, balance, null::bigint as balance_timestamp
        from ({known.sql}) known cross join lateral (
            select balance from token_balance {rows.sql} and account_id = known.id
            order by consensus_timestamp desc limit 1
        ) latest {narrowed.sql}
        order by known.id {query.direction} limit {query.limit:d}
    """
    return Statement(page, (*known.values, *rows.values, *narrowed.values))


def _known_holders(selection: Holders, rows: Where, query: Query) -> Statement:
    """Return SQL of the page of all holders.

    It skips from each account straight to the next, as a busy account has a row per snapshot. The bound at
    the far end is looked at after each step: between two bounds PostgreSQL expects so few rows that it would
    read and sort all of the token's, by an index of other order.
    """
    far = ("gt", "gte") if query.descending else ("lt", "lte")
    ahead = [comparison for comparison in selection.accounts if comparison.operator not in far]
    until = [comparison for comparison in selection.accounts if comparison.operator in far]
    where = rows + compare("account_id", ahead, any_equal=False)
    end = compare("account_id", until, any_equal=False)
    next_row = f"order by account_id {query.direction} limit 1"
    known = f"""
        with recursive known (id, number) as (
            select account_id, 1 from (
                select account_id from token_balance {where.sql} {next_row}
            ) first {end.sql}
            union all
            select following.account_id, known.number + 1
            from known cross join lateral (
                select account_id from token_balance
                {where.sql} and account_id {"<" if query.descending else ">"} known.id {next_row}
            ) following
            where known.number < {query.limit:d} {end.and_sql}
        ) select id from known
    """
    values = (*where.values, *end.values) * 2
    return _latest_of(Statement(known, values), selection, rows, query)


# BOTH


def _candidates(table: str, rows: Where, selection: Holders) -> Statement | None:
    """Return the accounts that meet the condition which most likely few do."""
    if selection.public_key is not None:
        return entities_of_keys([Comparison("eq", selection.public_key)], "type = 'ACCOUNT'")
    if is_selective(selection.balances):
        where = rows + selection.with_balance
        ordered = f"select account_id as id from {table} {where.sql} order by token_id, balance"
        return Statement(ordered, where.values)
    return None


def _with_decimals(page: Statement, selection: Holders, query: Query) -> Statement:
    # Index: the primary key of token.
    statement = f"""
        select account_id, balance, balance_timestamp, (select decimals from token where token_id = %s)
        from ({page.sql}) page order by account_id {query.direction}
    """
    return Statement(statement, (selection.token_id, *page.values))


@distributable
def _fetched(page: Statement, selection: Holders, query: Query) -> list[Holding]:
    statement = _with_decimals(page, selection, query)
    return [Holding(*row) for row in fetch(statement.sql, statement.values)]


@_fetched.distributed
def _distributed_fetched(page: Statement, selection: Holders, query: Query) -> list[Holding]:
    rows = fetch(f"select * from ({page.sql}) page order by account_id {query.direction}", page.values)
    return _with_known_decimals(rows, selection)


def _with_known_decimals(rows: Sequence[Row], selection: Holders) -> list[Holding]:
    """Return the holdings where the token is on another machine than its holders."""
    # Index: the primary key of token.
    token = fetch_one("select decimals from token where token_id = %s", (selection.token_id,))
    decimals = None if token is None else token[0]
    return [Holding(account, balance, since, decimals) for account, balance, since in rows]
