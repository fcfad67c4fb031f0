"""Lists of transactions: pages by account, type, result and time.

A list whose index holds no other rows is one statement. Any other list is searched in steps. Each looks at
a limited number of rows: it asks both sides of the request (`transaction_sides`) which time that number
reaches, and lets the one drive that comes farther. So a rare type, a rare failure or a quiet account ends the
search at once, whatever is on the other side. The rows grow from step to step, until the page is full or the
budget is spent.
"""

import time
from typing import NamedTuple

import psycopg

from ledger.queries.transaction_sides import (
    Accounts,
    Selection,
    accounts_of,
    accounts_within,
    sides_of,
)
from ledger.queries.transaction_streams import Side, Window
from ledger.queries.transactions import COLUMNS, FullTransaction
from mirror import config
from mirror.db import budget
from mirror.db.bounds import Bounds
from mirror.db.query import Query
from mirror.db.sql import TIMEOUT, fetch

# The rows of each stream that the first step looks at, and the last ones.
_FEW, _MANY = 256, 65_536
_GROWTH = 4
# A step that takes less than this part of the budget is followed by a larger one.
_SHORT = 0.05

# A range with at most so many accounts is read account by account.
_MOST_ACCOUNTS = 200


def transactions(selection: Selection, query: Query) -> tuple[list[FullTransaction], int | None]:
    """Return a page of transactions by consensus timestamp.

    Also return the time up to which all have been seen, if time ran out before the page was full.
    """
    accounts = accounts_of(selection.accounts)
    if accounts == ():
        return [], None
    plan = sides_of(selection, accounts)
    if plan.direct or selection.timestamps.equal:
        return _page(plan.sides[0], selection.timestamps, query), None
    return _Search(selection, accounts, query).run()


def _page(side: Side, timestamps: Bounds, query: Query) -> list[FullTransaction]:
    """Return a page of a side, read at once: each of its streams stops early."""
    keys = side.keys(Window(timestamps, query.direction), query.limit)
    page = f"order by consensus_timestamp {query.direction} limit {query.limit:d}"
    statement = f"""
        select {COLUMNS}, null, null
        from (select consensus_timestamp from ({keys.text}) part {page}) key
        join transaction t on t.consensus_timestamp = key.consensus_timestamp
        order by t.consensus_timestamp {query.direction}
    """
    return [FullTransaction._make(row) for row in fetch(statement, keys.values)]


class _Step(NamedTuple):
    """The transactions found by looking at a number of rows, and the time up to which; None for all."""

    found: list[FullTransaction]
    edge: int | None


def _step(side: Side, timestamps: Bounds, query: Query, number: int) -> _Step:
    edge = side.edge(Window(timestamps, query.direction), number)
    keys = side.keys(Window(timestamps, query.direction, edge=True), query.limit)
    page = f"order by consensus_timestamp {query.direction} limit {query.limit:d}"
    statement = f"""
        with edge as materialized ({edge.text})
        select {COLUMNS}, null, null, edge.at
        from edge
        left join (select consensus_timestamp from ({keys.text}) part {page}) key on true
        left join transaction t on t.consensus_timestamp = key.consensus_timestamp
        order by t.consensus_timestamp {query.direction}
    """
    rows = fetch(statement, (*edge.values, *keys.values))
    found = [FullTransaction._make(row[:-1]) for row in rows if row[0] is not None]
    return _Step(found, rows[0][-1])


class _Search:
    """A list that is searched in steps."""

    def __init__(self, selection: Selection, accounts: Accounts, query: Query) -> None:
        self._selection = selection
        self._query = query
        self._plan = sides_of(selection, accounts)
        # A range whose accounts are not counted yet.
        self._range = accounts if isinstance(accounts, Bounds) else None
        self._rest = selection.timestamps
        self._number = max(_FEW, 2 * query.limit)

    def run(self) -> tuple[list[FullTransaction], int | None]:
        # A link can't move on from an excluded value.
        whole = 0.0 if self._rest.unequal else budget.total()
        found: list[FullTransaction] = []
        reached: int | None = None
        while not self._rest.empty:
            began = time.monotonic()
            try:
                step = self._first() if reached is None else self._following()
            except psycopg.errors.QueryCanceled:
                if reached is None:
                    raise
                return found, reached
            found += step.found
            if len(found) >= self._query.limit:
                return found[: self._query.limit], None
            if step.edge is None:
                break
            reached = step.edge
            self._rest = _after(self._rest, reached, descending=self._query.descending)
            seconds = time.monotonic() - began
            if whole and budget.left() < seconds and not self._rest.empty:
                return found, reached
            if not whole or seconds < whole * _SHORT:
                self._number = min(self._number * _GROWTH, _MANY)
        return found, None

    def _first(self) -> _Step:
        """Look at the accounts' rows: for most requests these fill the page."""
        try:
            return self._step(self._plan.sides[0])
        except psycopg.errors.QueryCanceled:
            # The first step has to come to an end, or no page would ever come further.
            with budget.limited(config.value(TIMEOUT)):
                return self._step(self._plan.sides[0])

    def _following(self) -> _Step:
        """Look at the rows of the side that comes farthest."""
        side, is_all = self._farthest()
        if self._range is not None and not is_all:
            accounts = accounts_within(self._range, entities=self._selection.entities, most=_MOST_ACCOUNTS)
            self._range = None
            if accounts == ():
                return _Step([], None)
            if accounts is not None:
                self._plan = sides_of(self._selection, accounts)
                if self._plan.direct:
                    return _Step(_page(self._plan.sides[0], self._rest, self._query), None)
                side, _ = self._farthest()
        return self._step(side)

    def _farthest(self) -> tuple[Side, bool]:
        """Return the side that comes farthest by looking at the same number of rows; True if to the end."""
        sides = self._plan.sides
        if len(sides) == 1:
            return sides[0], False
        window = Window(self._rest, self._query.direction)
        edges = [side.edge(window, self._number) for side in sides]
        statement = "select " + ", ".join(f"({edge.text})" for edge in edges)
        ((*reached,),) = fetch(statement, [value for edge in edges for value in edge.values])
        if None in reached:
            return sides[reached.index(None)], True
        return sides[reached.index(min(reached) if self._query.descending else max(reached))], False

    def _step(self, side: Side) -> _Step:
        return _step(side, self._rest, self._query, self._number)


def _after(bounds: Bounds, edge: int, *, descending: bool) -> Bounds:
    """Return what follows a time, in this order."""
    if descending:
        return bounds.between(bounds.lower, edge - 1)
    return bounds.between(edge + 1, bounds.upper)
