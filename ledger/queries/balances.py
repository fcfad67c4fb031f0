"""Balances as of the last snapshot at or before a time.

account_balance and token_balance hold snapshots: the first of a month has every account, later ones only the
balances that changed since. So the balance at a snapshot is the latest row between the start of its month and
the snapshot; both ends of that window lie in one monthly partition. The months stand in the text of the
statements, so that PostgreSQL plans, opens and locks only this one partition.
"""

from collections.abc import Sequence
from typing import NamedTuple

from ledger.queries.accounts import Holdings
from mirror import config
from mirror.db.bounds import Bounds
from mirror.db.query import Query
from mirror.db.sql import MAX_INT64, Comparison, Where, compare, fetch, fetch_one
from mirror.values import entity_id
from mirror.values.timestamp import month_start

_TREASURY_NUM = 2


class Window(NamedTuple):
    """The times of a snapshot's rows: from the start of its month to the snapshot (inclusive, ns)."""

    month: int
    snapshot: int

    @property
    def rows(self) -> Where:
        """The condition of these rows in account_balance and token_balance."""
        months = (
            f"consensus_timestamp >= {self.month:d} and consensus_timestamp < {month_start(self.month, 1):d}"
        )
        return Where((months, "consensus_timestamp <= %s"), (self.snapshot,))


class BalanceAt(NamedTuple):
    account_id: int
    balance: int
    tokens: Holdings | None


def window(comparisons: Sequence[Comparison], *, now: int) -> Window | None:
    """Return the window of the latest snapshot at these times; an equal time stands for all up to it.

    A snapshot before the month that precedes their end, or now, is too old.
    """
    timestamps = Bounds.of(
        Comparison("lte" if operator == "eq" else operator, time) for operator, time in comparisons
    )
    treasury = entity_id.encode(config.value("common.shard"), config.value("common.realm"), _TREASURY_NUM)
    lower = max(timestamps.lower or 0, 0)
    upper = MAX_INT64 if timestamps.upper is None else min(timestamps.upper, MAX_INT64)
    if upper < lower:
        return None
    lower = max(lower, month_start(min(upper, now), -1))
    # Index: the primary key (account_id, consensus_timestamp), from its end. The treasury is part of every
    # snapshot. It stands in the text, as PostgreSQL knows that it has too many rows to sort them.
    bounds = Bounds(lower, upper, unequal=timestamps.unequal).where("consensus_timestamp")
    months = f"consensus_timestamp >= {month_start(lower)}"
    if upper < now:
        months += f" and consensus_timestamp < {month_start(upper, 1)}"
    statement = f"""
        select consensus_timestamp from account_balance
        where account_id = {treasury:d} and {months} {bounds.and_sql}
        order by consensus_timestamp desc limit 1
    """
    row = fetch_one(statement, bounds.values)
    return None if row is None else Window(month_start(row[0]), row[0])


def balance_at(account_id: int, at: Window, *, tokens: int) -> BalanceAt:
    """Return an account's balance, 0 if no snapshot has it, and up to `tokens` of its tokens."""
    # Index: the primary key (account_id, consensus_timestamp).
    rows = at.rows
    statement = f"""
        select a.id, coalesce((
            select balance from account_balance
            where account_id = a.id {rows.and_sql} order by consensus_timestamp desc limit 1
        ), 0), {_held(rows, tokens, "asc")}
        from (select %s::bigint as id) a
    """
    (row,) = fetch(statement, (*rows.values, *rows.values, account_id))
    return BalanceAt(*row)


class Selection(NamedTuple):
    """The accounts and balances of a page. `public_key` selects accounts that have it now."""

    accounts: Sequence[Comparison] = ()
    balances: Sequence[Comparison] = ()
    public_key: str | None = None


def balances_at(selection: Selection, at: Window, query: Query, *, tokens: int) -> list[BalanceAt]:
    """Return a page of the accounts in the window's snapshots, each with up to `tokens` tokens."""
    rows = at.rows
    balances = compare("balance", selection.balances, any_equal=False)
    known = _known(selection, rows, balances, query)
    # Index: the primary key (account_id, consensus_timestamp).
    statement = f"""
        {known.sql}
        select a.id, latest.balance, {_held(rows, tokens, query.direction)}
        from known a cross join lateral (
            select balance from account_balance
            where account_id = a.id {rows.and_sql} {balances.and_sql}
            order by consensus_timestamp desc limit 1
        ) latest
        order by a.id {query.direction} limit {query.limit:d}
    """
    values = (*known.values, *rows.values, *rows.values, *balances.values)
    return [BalanceAt(*row) for row in fetch(statement, values)]


class _Part(NamedTuple):
    sql: str
    values: tuple[object, ...]


def _known(selection: Selection, rows: Where, balances: Where, query: Query) -> _Part:
    """Return SQL of `with known (id)`: at least the accounts of the page, in its order."""
    if selection.public_key is not None:
        # Index: entity__public_key_type (public_key, type).
        where = compare("public_key", [Comparison("eq", selection.public_key)])
        where += compare("id", selection.accounts)
        return _Part(
            f"""
            with known as materialized (
                select id from entity {where.sql} and type in ('ACCOUNT', 'CONTRACT')
            )
            """,
            where.values,
        )
    equal = {comparison.value for comparison in selection.accounts if comparison.operator == "eq"}
    if equal:
        others = [comparison for comparison in selection.accounts if comparison.operator != "eq"]
        where = compare("id", others)
        ids = sorted(value for value in equal if value is not None)
        return _Part(
            f"with known as (select id from unnest(%s::bigint[]) id {where.sql})", (ids, *where.values)
        )
    # Index: the primary key (account_id, consensus_timestamp), from each account straight to the next, as a
    # busy account has a row per snapshot.
    where = rows + compare("account_id", selection.accounts) + balances
    next_row = f"order by account_id {query.direction} limit 1"
    return _Part(
        f"""
        with recursive known (id, number) as (
            (select account_id, 1 from account_balance {where.sql} {next_row})
            union all
            select following.account_id, known.number + 1
            from known cross join lateral (
                select account_id from account_balance
                {where.sql} and account_id {"<" if query.descending else ">"} known.id
                {next_row}
            ) following
            where known.number < {query.limit:d}
        )
        """,
        where.values * 2,
    )


def _held(rows: Where, most: int, direction: str) -> str:
    """Return SQL of the tokens of account a, as an array of pairs of id and balance."""
    # Index: the primary key (account_id, token_id, consensus_timestamp).
    return f"""(
        select array_agg(array[token_id, balance]) from (
            select distinct on (token_id) token_id, balance from token_balance
            where account_id = a.id {rows.and_sql}
            order by token_id {direction}, consensus_timestamp desc limit {most:d}
        ) held
    )"""
