"""Lists of transactions: pages by account, type, result and time.

A list whose index holds no other rows is one statement. Any other list is searched in steps. Each looks at
a limited number of rows: it finds for both sides of the request (`transaction_sides`) the time that this
number reaches, and reads the side that comes farther. So a rare type, a rare failure or a quiet account ends
the search at once, whatever is on the other side. If neither comes much farther, the times that both have are
found by their indexes alone. The rows grow from step to step, until the page is full or the budget is spent.
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache
from typing import NamedTuple

import psycopg

from ledger.queries import distributed_transaction_lists as distributed
from ledger.queries.account_pages import is_narrow
from ledger.queries.transaction_sides import (
    Accounts,
    TransactionSelection,
    accounts_of,
    distinct_accounts,
    has_single_index,
    sides_of,
)
from ledger.queries.transaction_streams import Side, Sql, Window, intersect
from ledger.queries.transactions import FullTransaction, columns
from mirror.core.db.distribution import choose, distributable
from mirror.core.db.reading import budget
from mirror.core.db.reading.by_month import ALL_TIMES, and_months, is_partitioned, windows
from mirror.core.db.reading.query import Bounds, Query
from mirror.core.db.reading.sql import fetch

# The rows of each stream that the first step looks at, and the last ones.
_MIN_ROWS, _MAX_ROWS = 256, 65_536
_GROWTH = 4
# The same where tables are distributed: a statement on all machines takes as long as reading some hundred
# rows.
_MIN_DISTRIBUTED_ROWS, _SHORT_DISTRIBUTED = 1024, 0.25
# A step that takes less than this part of the budget is followed by a larger one.
_SHORT = 0.05

# Sides of which one has less than so many times the rows of the other are read both.
_MAX_RATIO = 12

# Looking up a row on the other side takes as long as reading so many rows of an index.
_ROWS_PER_LOOKUP = 32

# So many rows of a side that ends are simply looked at.
_MIN_PROBED_ROWS = 1024

# A range with at most so many accounts is read account by account. Counting the larger number takes longer,
# so that is for a later step.
_MAX_ACCOUNTS = (200, 1024)


Page = tuple[list[FullTransaction], int | None]
"""Transactions, and the time up to which all have been seen, if time ran out before the page was full."""


@distributable
def transactions(selection: TransactionSelection, query: Query) -> Page:
    """Return a page of transactions by consensus timestamp."""
    accounts = accounts_of(selection.accounts)
    if accounts != () and has_single_index(selection, accounts) and not is_partitioned():
        account = accounts[0] if isinstance(accounts, tuple) else 0
        return _indexed_page(selection, account, query), None
    return _by_month(selection, accounts, query)


@transactions.distributed
def _distributed_transactions(selection: TransactionSelection, query: Query) -> Page:
    return _by_month(selection, accounts_of(selection.accounts), query)


def _by_month(selection: TransactionSelection, accounts: Accounts, query: Query) -> Page:
    if accounts == ():
        return [], None
    # Where tables are partitioned by month, month by month.
    page: list[FullTransaction] = []
    seen_until: int | None = None
    for times in windows(selection.timestamps, descending=query.descending):
        if seen_until is not None and budget.total() and budget.remaining() <= 0:
            return page, seen_until
        rows, seen_until = _transactions(replace(selection, timestamps=times), accounts, query)
        page += rows
        if len(page) >= query.limit:
            return page[: query.limit], None
        if seen_until is not None:
            return page, seen_until
        if not times.unequal:
            seen_until = times.lower if query.descending else times.upper
    return page, None


def _transactions(selection: TransactionSelection, accounts: Accounts, query: Query) -> Page:
    accounts = _existing(selection, accounts)
    if accounts == ():
        return [], None
    plan = sides_of(selection, accounts)
    if plan.direct or selection.timestamps.equal:
        return _read_side(plan.sides[0], selection.timestamps, query), None
    return _Search(selection, accounts, query).run()


@distributable
def _existing(selection: TransactionSelection, accounts: Accounts) -> Accounts:
    return accounts


@_existing.distributed
def _distributed_existing(selection: TransactionSelection, accounts: Accounts) -> Accounts:
    # Reading the few that exist in a narrow range is cheap compared with a step.
    if not isinstance(accounts, Bounds) or not is_narrow(accounts):
        return accounts
    account_ids = distinct_accounts(accounts, entities=selection.entities, most=_MAX_ACCOUNTS[0])
    return accounts if account_ids is None else account_ids


def _page(keys: Sql, query: Query, times: Bounds) -> list[FullTransaction]:
    """Return the transactions of the first of some times."""
    return [FullTransaction._make(row) for row in fetch(_page_text(keys, query, times), keys.values)]


def _page_text(keys: Sql, query: Query, times: Bounds) -> str:
    return f"""
        select {columns(times)}
        from (
            select consensus_timestamp from ({keys.text}) part
            order by consensus_timestamp {query.direction} limit {query.limit:d}
        ) key
        join transaction t on t.consensus_timestamp = key.consensus_timestamp
            {and_months(times, "t.consensus_timestamp")}
        order by t.consensus_timestamp {query.direction}
    """


# Stand-ins for the values of a plain list, of which only the text depends on whether there are any.
_ACCOUNT, _TYPE, _LOWER, _UPPER, _PRECEDING = -1, -2, -3, -4, -5


def _indexed_page(selection: TransactionSelection, account: int, query: Query) -> list[FullTransaction]:
    """Return a page of a plain list, whose text is made once.

    So its text can't name the times themselves, nor months of partitioned tables.
    """
    bounds = selection.timestamps
    shape = TransactionSelection(
        timestamps=Bounds(None if bounds.lower is None else _LOWER, None if bounds.upper is None else _UPPER),
        succeeded=selection.succeeded,
        types=(_TYPE,) if selection.types else (),
        preceding=(_PRECEDING,),
        entities=selection.entities,
    )
    page = Query(descending=query.descending, limit=query.limit)
    statement = _indexed_text(shape, account != 0, page)
    values: dict[object, object] = {
        _ACCOUNT: account,
        _TYPE: selection.types[0] if selection.types else None,
        _LOWER: bounds.lower,
        _UPPER: bounds.upper,
    }
    parameters = [
        list(selection.preceding) if isinstance(value, list) else values.get(value, value)
        for value in statement.values
    ]
    return [FullTransaction._make(row) for row in fetch(statement.text, parameters)]


@lru_cache(maxsize=512)
def _indexed_text(shape: TransactionSelection, has_account: bool, query: Query) -> Sql:
    (side,) = sides_of(shape, (_ACCOUNT,) if has_account else None).sides
    keys = side.keys(Window(shape.timestamps, query.direction), query.limit)
    return Sql(_page_text(keys, query, ALL_TIMES), keys.values)


@distributable
def _read_side(side: Side, timestamps: Bounds, query: Query) -> list[FullTransaction]:
    """Return a page of a side, each of whose streams stops early."""
    return _page(side.keys(Window(timestamps, query.direction), query.limit), query, timestamps)


_read_side.distributed(distributed.page)


class _Step(NamedTuple):
    """The transactions among a number of rows, and the time up to which these were read; None for all."""

    rows: list[FullTransaction]
    edge: int | None


def _step(side: Side, timestamps: Bounds, query: Query, edge: Sql) -> _Step:
    """Look at a side's rows up to the time that a statement gives, or all of them."""
    # The edge is not among the bounds: PostgreSQL would expect so few rows between them that it sorts all.
    keys = side.keys(Window(timestamps, query.direction, edge=True), query.limit)
    page = f"order by consensus_timestamp {query.direction} limit {query.limit:d}"
    statement = f"""
        with edge as materialized ({edge.text})
        select {columns(timestamps)}, edge.at
        from edge
        left join (select consensus_timestamp from ({keys.text}) part {page}) key on true
        left join transaction t on t.consensus_timestamp = key.consensus_timestamp
            {and_months(timestamps, "t.consensus_timestamp")}
        order by t.consensus_timestamp {query.direction}
    """
    rows = fetch(statement, (*edge.values, *keys.values))
    transactions = [FullTransaction._make(row[:-1]) for row in rows if row[0] is not None]
    return _Step(transactions, rows[0][-1])


@distributable
def _first_step(side: Side, timestamps: Bounds, query: Query, number: int) -> _Step:
    """Look at a number of a side's rows."""
    return _step(side, timestamps, query, side.edge(Window(timestamps, query.direction), number))


@_first_step.distributed
def _distributed_first_step(side: Side, timestamps: Bounds, query: Query, number: int) -> _Step:
    edge = distributed.edge(side, Window(timestamps, query.direction), number)
    return _step_until(side, timestamps, query, edge)


@distributable
def _step_until(side: Side, timestamps: Bounds, query: Query, edge: int | None) -> _Step:
    """Look at a side's rows up to a known time, or all of them."""
    return _step(side, timestamps, query, Sql("select %s::bigint as at", (edge,)))


@_step_until.distributed
def _distributed_step_until(side: Side, timestamps: Bounds, query: Query, edge: int | None) -> _Step:
    if edge is not None:
        timestamps = _bounds_until(timestamps, edge, descending=query.descending)
    return _Step(_read_side(side, timestamps, query), edge)


@distributable
def _edges(sides: Sequence[Side], window: Window, number: int) -> list[int | None]:
    """Return how far each side comes by looking at the same number of rows; None for all the way."""
    edges = [side.edge(window, number) for side in sides]
    statement = "select " + ", ".join(f"({edge.text})" for edge in edges)
    ((*side_edges,),) = fetch(statement, [value for edge in edges for value in edge.values])
    return side_edges


_edges.distributed(distributed.edges)


@distributable
def _both(sides: Sequence[Side], window: Window, query: Query, number: int) -> list[FullTransaction]:
    """Return the first transactions of both sides within a window, of about so many rows."""
    left, right = sides
    return _page(
        intersect(left, right, window, query.limit, number // _ROWS_PER_LOOKUP), query, window.bounds
    )


_both.distributed(distributed.intersect)


class _Search:
    """A list that is searched in steps."""

    def __init__(self, selection: TransactionSelection, accounts: Accounts, query: Query) -> None:
        self._selection = selection
        self._query = query
        self._plan = sides_of(selection, accounts)
        # A range whose accounts are not known, and how many to count in the next steps.
        self._range = accounts if isinstance(accounts, Bounds) else None
        self._counts = list(_MAX_ACCOUNTS)
        self._unread = selection.timestamps
        self._rows: list[FullTransaction] = []
        self._number = max(choose(_MIN_ROWS, distributed=_MIN_DISTRIBUTED_ROWS), 2 * query.limit)

    def run(self) -> Page:
        # A link can't move on from an excluded value.
        total = 0.0 if self._unread.unequal else budget.total()
        page, max_seconds = self._rows, budget.share()
        seen_until: int | None = None
        while not self._unread.empty:
            started_at = time.monotonic()
            if seen_until is None:
                # The accounts' rows: for most requests these fill the page.
                step = _first_step(self._plan.sides[0], self._unread, self._query, self._number)
            elif not total:
                step = self._next_step()
            else:
                try:
                    with budget.limited(max_seconds):
                        step = self._next_step()
                except psycopg.errors.QueryCanceled:
                    # On a slow disk, what it has read takes no time again.
                    if budget.remaining() <= max_seconds:
                        return page, seen_until
                    max_seconds = budget.remaining()
                    continue
            page += step.rows
            if len(page) >= self._query.limit:
                return page[: self._query.limit], None
            if step.edge is None:
                break
            seen_until = step.edge
            self._unread = _rest_after(self._unread, seen_until, descending=self._query.descending)
            seconds = time.monotonic() - started_at
            if total and budget.remaining() < seconds and not self._unread.empty:
                return page, seen_until
            if not total or seconds < total * choose(_SHORT, distributed=_SHORT_DISTRIBUTED):
                # At most twice what is missing needs, if as many rows have as many transactions again.
                growth = min(_GROWTH, 1 + 2 * (self._query.limit - len(page)) // (len(step.rows) or 1))
                self._number = min(self._number * growth, _MAX_ROWS)
        return page, None

    def _next_step(self) -> _Step:
        """Look at the rows of the side that comes farther, or at the times that both sides have."""
        side_edges = self._side_edges()
        if self._range is not None and None not in side_edges and self._counts:
            accounts = distinct_accounts(self._range, entities=self._selection.entities, most=self._counts[0])
            self._counts.pop(0)
            if accounts == ():
                return _Step([], None)
            if accounts is not None:
                self._range = None
                self._plan = sides_of(self._selection, accounts)
                if self._plan.direct:
                    return _Step(_read_side(self._plan.sides[0], self._unread, self._query), None)
                side_edges = self._side_edges()
        if (step := self._intersect(side_edges)) is not None:
            return step
        index = self._farthest_side(side_edges)
        return _step_until(self._plan.sides[index], self._unread, self._missing, side_edges[index])

    def _farthest_side(self, side_edges: Sequence[int | None]) -> int:
        """Return which side comes farthest."""
        if None in side_edges:
            return side_edges.index(None)
        edges = [edge for edge in side_edges if edge is not None]
        return edges.index(min(edges) if self._query.descending else max(edges))

    def _intersect(self, side_edges: Sequence[int | None]) -> _Step | None:
        """Look for times that both sides have, unless one of them comes much farther."""
        descending = self._query.descending
        edges = [edge for edge in side_edges if edge is not None]
        if not all(side.by_index for side in self._plan.sides) or len(self._plan.sides) == 1:
            return None
        if len(edges) < len(side_edges):
            if not edges or self._number <= _MIN_PROBED_ROWS:
                return None
            edges.append(self._last_timestamp())
        start = self._unread.upper if descending else self._unread.lower
        far, near = (min(edges), max(edges)) if descending else (max(edges), min(edges))
        if start is None or abs(start - near) * _MAX_RATIO < abs(start - far):
            return None
        window = Window(_bounds_until(self._unread, near, descending=descending), self._query.direction)
        return _Step(_both(self._plan.sides, window, self._missing, self._number), near)

    def _last_timestamp(self) -> int:
        last: int
        ((last,),) = fetch(
            f"select consensus_timestamp from transaction "
            f"order by consensus_timestamp {'asc' if self._query.descending else 'desc'} limit 1"
        )
        bound = self._unread.lower if self._query.descending else self._unread.upper
        if bound is None:
            return last
        return max(last, bound) if self._query.descending else min(last, bound)

    def _side_edges(self) -> list[int | None]:
        return _edges(self._plan.sides, Window(self._unread, self._query.direction), self._number)

    @property
    def _missing(self) -> Query:
        """The query of the rows missing from the page. Few limits: each is a statement of its own."""
        missing = self._query.limit - len(self._rows)
        return self._query._replace(limit=min(self._query.limit, 1 << (missing - 1).bit_length()))


def _bounds_until(bounds: Bounds, edge: int, *, descending: bool) -> Bounds:
    """Return what comes up to a time, in this order."""
    return bounds.between(edge, bounds.upper) if descending else bounds.between(bounds.lower, edge)


def _rest_after(bounds: Bounds, edge: int, *, descending: bool) -> Bounds:
    """Return what follows a time, in this order."""
    if descending:
        return bounds.between(bounds.lower, edge - 1)
    return bounds.between(edge + 1, bounds.upper)
