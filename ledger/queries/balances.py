"""Balances as of the last snapshot at or before a time.

account_balance and token_balance hold snapshots: the first of a month has every account, later ones only the
balances that changed since. So the balance at a snapshot is the latest row between the start of its month and
the snapshot; both ends of that window lie in one monthly partition. The months stand in the text of the
statements, so that PostgreSQL plans, opens and locks only this one partition.
"""

from collections.abc import Sequence
from functools import lru_cache, partial
from typing import NamedTuple

from ledger.queries.account_pages import (
    UNINDEXED_BALANCE,
    bounds_of,
    is_narrow,
    is_selective,
    min_max,
)
from ledger.queries.accounts import Holdings
from mirror.core import config
from mirror.core.db.distribution import choose, distributable
from mirror.core.db.reading.query import Bounds, Query, Statement
from mirror.core.db.reading.scans import FIRST_IDS, selective_page, walk
from mirror.core.db.reading.sql import MAX_INT64, Comparison, Where, compare, fetch, fetch_one
from mirror.core.values.timestamp import NANOS_PER_DAY, month_start

_TREASURY_NUM = 2
_BALANCE_INDEX = "account_balance__balance_account"
_HALF_MONTH = 14 * NANOS_PER_DAY
# Rows of an account in a month that are read at once.
_FEW_ROWS = 10


class Window(NamedTuple):
    """The times of a snapshot's rows: from the start of its month to the snapshot (inclusive, ns)."""

    month: int
    snapshot: int

    @property
    def end(self) -> Statement:
        """SQL of the time of the snapshot."""
        return Statement("%s", (self.snapshot,))

    @property
    def rows(self) -> Where:
        """The condition of these rows in account_balance and token_balance."""
        return self.month_rows + Where((f"consensus_timestamp <= {self.end.sql}",), self.end.values)

    @property
    def month_rows(self) -> Where:
        """The condition of all rows of the snapshot's month, later ones included."""
        return Where((_within(self.month, month_start(self.month, 1)),))

    @property
    def filtered_rows(self) -> Where:
        """The same condition as a filter, for an index where another column comes before the time.

        From 18 on PostgreSQL would look up the times for each value of that column. By its estimate that is
        so dear that it chooses any index. An `or` can't be looked up, but still names the partition.
        """
        middle, end = self.month + _HALF_MONTH, month_start(self.month, 1)
        halves = f"(({_within(self.month, middle)}) or ({_within(middle, end)}))"
        return Where((halves, f"consensus_timestamp + 0 <= {self.end.sql}"), self.end.values)


def _within(since: int, until: int) -> str:
    return f"consensus_timestamp >= {since:d} and consensus_timestamp < {until:d}"


class _WindowOfLatest(Window):
    """The window of a statement that finds the snapshot itself: the row of `latest`."""

    @property
    def end(self) -> Statement:
        return Statement("(select consensus_timestamp from latest)", ())


class BalanceAt(NamedTuple):
    account_id: int
    balance: int
    tokens: Holdings | None


def window(comparisons: Sequence[Comparison], *, now: int) -> Window | None:
    """Return the window of the latest snapshot at these times; an equal time stands for all up to it.

    A snapshot before the month that precedes their end, or now, is too old.
    """
    for times in _months(comparisons, now):
        if (row := fetch_one(*_latest_snapshot(times, now))) is not None:
            return Window(month_start(row[0]), row[0])
    return None


def _months(comparisons: Sequence[Comparison], now: int) -> list[Bounds]:
    """Return these times in the month of their end, or now, and in the month before; each has two ends.

    Most times have a snapshot in their own month: one partition, and so nothing to sort.
    """
    times = Bounds.combine(
        Comparison("lte" if operator == "eq" else operator, time) for operator, time in comparisons
    )
    lower = max(times.lower or 0, 0)
    upper = MAX_INT64 if times.upper is None else min(times.upper, MAX_INT64)
    if upper < lower:
        return []
    month = month_start(min(upper, now))
    months = [times.between(max(lower, month), upper)]
    if lower < month:
        months.append(times.between(max(lower, month_start(month, -1)), month - 1))
    return months


def _latest_snapshot(times: Bounds, now: int) -> Statement:
    """Return SQL of the time of the latest snapshot at these times, which have two ends."""
    assert times.lower is not None and times.upper is not None
    treasury = config.own_id(_TREASURY_NUM)
    # Index: the primary key (account_id, consensus_timestamp), from its end. The treasury is part of every
    # snapshot. It stands in the text, as PostgreSQL knows that it has too many rows to sort them.
    bounds = times.where("consensus_timestamp")
    months = f"consensus_timestamp >= {month_start(times.lower)}"
    if times.upper < now:
        months += f" and consensus_timestamp < {month_start(times.upper, 1)}"
    statement = f"""
        select consensus_timestamp from account_balance
        where account_id = {treasury:d} and {months} {bounds.and_sql}
        order by consensus_timestamp desc limit 1
    """
    return Statement(statement, bounds.values)


def balance_at(account_id: int, snapshot: Window, *, tokens: int) -> BalanceAt:
    """Return an account's balance, 0 if no snapshot has it, and up to `tokens` of its tokens."""
    # Index: the primary key (account_id, consensus_timestamp).
    rows, held = snapshot.rows, _tokens(snapshot, tokens, "asc")
    statement = f"""
        select a.id, coalesce((
            select balance from account_balance
            where account_id = a.id {rows.and_sql} order by consensus_timestamp desc limit 1
        ), 0), {held.sql}
        from (select %s::bigint as id) a
    """
    (row,) = fetch(statement, (*rows.values, *held.values, account_id))
    return BalanceAt(*row)


class BalanceSelection(NamedTuple):
    """The accounts and balances of a page. `public_key` selects accounts that have it now."""

    accounts: Sequence[Comparison] = ()
    balances: Sequence[Comparison] = ()
    public_key: str | None = None


@distributable
def full_page(
    selection: BalanceSelection, comparisons: Sequence[Comparison], query: Query, *, tokens: int, now: int
) -> tuple[int, list[BalanceAt]] | None:
    """Return the time of the latest snapshot and a page of it, as `window` and `balances_at` would.

    It takes one short statement; None where that finds no full page.
    """
    months = _months(comparisons, now)
    if not months or not _has_latest_first(selection, query):
        return None
    assert months[0].lower is not None
    window, latest = _WindowOfLatest(month_start(months[0].lower), 0), _latest_snapshot(months[0], now)
    page = _page(
        _last_ids(selection, window, query), snapshot=window, query=query, tokens=tokens, has_balances=True
    )
    statement = f"""
        with latest as materialized ({latest.sql})
        select page.*, {window.end.sql} from ({page.sql}) page order by id desc
    """
    rows = fetch(statement, latest.values + page.values)
    if len(rows) < query.limit or month_start(rows[0][-1]) != window.month:
        return None
    return rows[0][-1], [BalanceAt(*row) for *row, _ in rows]


full_page.distributed(lambda *_, **__: None)


def balances_at(
    selection: BalanceSelection, snapshot: Window, query: Query, *, tokens: int
) -> tuple[list[BalanceAt], int | None]:
    """Return a page of the accounts in the window's snapshots, each with up to `tokens` tokens.

    With it comes the id after which the next page continues if there was no time to fill this one.
    """
    page = partial(_page, snapshot=snapshot, balances=selection.balances, query=query, tokens=tokens)
    paged = partial(page, has_balances=_reads_balances(selection, query))
    if candidates := _candidates(selection, snapshot):
        where = compare("id", selection.accounts)
        ids_sql = Statement(f"select id from few {where.sql}", where.values)
        few = selective_page(candidates, page(ids_sql), query, index=_BALANCE_INDEX)
        if few is not None:
            return [BalanceAt(*row) for row in few], None

    def read(window: Bounds) -> list[BalanceAt]:
        statement = paged(_ids_page(selection, snapshot.rows, Bounds(window.lower, window.upper), query))
        return [BalanceAt(*row) for row in fetch(statement.sql, statement.values)]

    ids = bounds_of(selection.accounts)
    if choose(False, distributed=_has_latest_first(selection, query)):
        first = fetch(*paged(_last_ids(selection, snapshot, query)))
        if len(first) == query.limit:
            return [BalanceAt(*row) for row in first], None
    if is_narrow(ids) or (selection.public_key is None and not selection.balances):
        return read(Bounds()), None
    return walk(
        read,
        ids,
        query,
        ends=lambda: min_max("account_balance", "account_id", snapshot.rows),
        first=FIRST_IDS,
    )


def _candidates(selection: BalanceSelection, snapshot: Window) -> Statement | None:
    """Return the accounts that meet the condition which most likely few do."""
    if selection.public_key is not None or is_narrow(bounds_of(selection.accounts)):
        return None
    if is_selective(selection.balances):
        # Index: account_balance__balance_account (balance, account_id), in the snapshots of the month.
        where = snapshot.month_rows + compare("balance", selection.balances, any_equal=False)
        ordered = f"select account_id as id from account_balance {where.sql} order by balance"
        return Statement(ordered, where.values)
    return None


def _page(
    ids_sql: Statement,
    *,
    snapshot: Window,
    query: Query,
    tokens: int,
    balances: Sequence[Comparison] = (),
    has_balances: bool = False,
) -> Statement:
    """Return SQL of the page; `ids_sql` selects at least the ids of its accounts, or its ids and balances."""
    # Index: the primary key (account_id, consensus_timestamp).
    rows, held = snapshot.rows, _tokens(snapshot, tokens, query.direction)
    if has_balances:
        statement = f"""
            select a.id, a.balance, {held.sql}
            from ({ids_sql.sql}) a order by a.id {query.direction}
        """
        return Statement(statement, (*held.values, *ids_sql.values))
    balance_condition = compare(UNINDEXED_BALANCE, balances, any_equal=False)
    statement = f"""
        select a.id, latest.balance, {held.sql}
        from ({ids_sql.sql}) a cross join lateral (
            select balance from account_balance
            where account_id = a.id {rows.and_sql} {balance_condition.and_sql}
            order by consensus_timestamp desc limit 1
        ) latest
        order by a.id {query.direction} limit {query.limit:d}
    """
    return Statement(statement, (*held.values, *ids_sql.values, *rows.values, *balance_condition.values))


def _reads_balances(selection: BalanceSelection, query: Query) -> bool:
    """Return whether `_ids_page` advances to the next account and to its latest row by one step."""
    has_equal_id = any(comparison.operator == "eq" for comparison in selection.accounts)
    return query.descending and selection.public_key is None and not has_equal_id


def _has_latest_first(selection: BalanceSelection, query: Query) -> bool:
    """Return whether the page starts with the last rows of the primary key: see `_last_ids`."""
    return _reads_balances(selection, query) and not selection.balances


@distributable
def _of_key(ids: Statement, query: Query) -> Statement:
    return ids


@_of_key.distributed
def _known_ids(ids: Statement, query: Query) -> Statement:
    # Balances are not on the machines of their accounts.
    known = [number for (number,) in fetch(*ids)]
    return Statement(f"select id from unnest(%s::bigint[]) id order by id {query.direction}", (known,))


def _ids_page(selection: BalanceSelection, rows: Where, window: Bounds, query: Query) -> Statement:
    """Return SQL of at least the ids of the page that lie in the window, and of balances: see above."""
    if selection.public_key is not None:
        # Index: entity__public_key_type_id (public_key, type, id), from both types in the order of ids.
        where = compare("public_key", [Comparison("eq", selection.public_key)])
        where += compare("id", selection.accounts) + window.where("id")
        selects = " union all ".join(
            f"select id from entity where type = '{entity_type}' {where.and_sql}"
            for entity_type in ("ACCOUNT", "CONTRACT")
        )
        ordered = f"select id from ({selects}) account order by id {query.direction} offset 0"
        return _of_key(Statement(ordered, where.values * 2), query)
    equal = {comparison.value for comparison in selection.accounts if comparison.operator == "eq"}
    if equal:
        others = [comparison for comparison in selection.accounts if comparison.operator != "eq"]
        where = compare("id", others)
        ids = sorted(value for value in equal if value is not None)
        return Statement(f"select id from unnest(%s::bigint[]) id {where.sql}", (ids, *where.values))
    # Index: the primary key (account_id, consensus_timestamp), from each account straight to the next, as a
    # busy account has a row per snapshot. From its end, the first row of an account is its latest.
    where = rows + compare("account_id", selection.accounts) + window.where("account_id")
    where += compare(UNINDEXED_BALANCE, selection.balances, any_equal=False)
    next_row = f"order by account_id {query.direction}, consensus_timestamp {query.direction} limit 1"
    balance = ", balance" if _reads_balances(selection, query) else ""
    return Statement(
        f"""
        with recursive known (number, id{balance}) as (
            (select 1, account_id{balance} from account_balance {where.sql} {next_row})
            union all
            select known.number + 1, following.*
            from known cross join lateral (
                select account_id{balance} from account_balance
                {where.sql} and account_id {"<" if query.descending else ">"} known.id
                {next_row}
            ) following
            where known.number < {query.limit:d}
        ) select id{balance} from known
        """,
        where.values * 2,
    )


def _last_ids(selection: BalanceSelection, snapshot: Window, query: Query) -> Statement:
    """Return SQL of the last ids and their balances, as far as a few rows have them."""
    # Index: the primary key (account_id, consensus_timestamp), from its end. Where accounts have few rows,
    # reading them all takes a third of the time of going from each account to the next.
    ordered = "order by account_id desc, consensus_timestamp desc"
    where = snapshot.rows + compare("account_id", selection.accounts)
    return Statement(
        f"""
        select distinct on (account_id) account_id as id, balance from (
            select account_id, consensus_timestamp, balance from account_balance
            {where.sql} {ordered} limit {query.limit * _FEW_ROWS:d}
        ) row {ordered} limit {query.limit:d}
        """,
        where.values,
    )


def _tokens(at: Window, most: int, direction: str) -> Statement:
    """Return SQL of the tokens of account a, as an array of pairs of id and balance."""
    sql = _tokens_sql(at.rows.and_sql, at.filtered_rows.and_sql, most, direction)
    return Statement(sql, at.end.values * 4)


@lru_cache
def _tokens_sql(rows: str, filtered: str, most: int, direction: str) -> str:
    """Return that SQL, with the time of the snapshot four times; `rows` and `filtered` are conditions.

    Its first rows are read, in the order of the index: PostgreSQL would sort all of an account. Only where
    they are too many rows of too few tokens, each token is looked up.
    """
    # Index: the primary key (account_id, token_id, consensus_timestamp).
    few = most * _FEW_ROWS
    of_account = f"from token_balance where account_id = a.id {filtered}"
    following = f"order by token_id {direction} limit 1"
    return f"""coalesce((
        select case when coalesce(sum(number), 0) < {few:d}
            then coalesce(array_agg(array[token_id, latest[2]]), '{{}}') end
        from (
            select token_id, max(array[consensus_timestamp, balance]) as latest, count(*) as number from (
                select token_id, consensus_timestamp, balance {of_account}
                order by token_id {direction}, consensus_timestamp {direction} limit {few:d}
            ) row group by token_id order by token_id {direction} limit {most:d}
        ) held
    ), (
        with recursive known (number, token_id) as (
            (select 1, token_id {of_account} {following})
            union all
            select known.number + 1, next.token_id from known cross join lateral (
                select token_id {of_account}
                    and token_id {"<" if direction == "desc" else ">"} known.token_id {following}
            ) next where known.number < {most:d}
        )
        select array_agg(array[token_id, (
            select balance from token_balance
            where account_id = a.id and token_id = known.token_id {rows}
            order by consensus_timestamp desc limit 1
        )]) from known
    ))"""
