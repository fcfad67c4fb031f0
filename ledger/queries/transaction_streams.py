"""Streams of transactions: rows of a table that an index holds in the order of time, as SQL.

One, or several together, drive a list (`transaction_sides`).
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from mirror.core.db.reading.by_month import and_months, month_conditions
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import MAX_INT64, NOTHING, Where

TRANSACTION = "transaction t"


# The minimum number of rows that a step reads per value: finding where they end costs as much as a few rows.
_MIN_ROWS_PER_VALUE = 8

# Before all times.
_MIN_TIMESTAMP = 0


class Sql(NamedTuple):
    text: str
    values: tuple[object, ...]


class Window(NamedTuple):
    """A part of the time, read from one end: the condition for a column of it, and the order."""

    bounds: Bounds
    direction: str
    edge: bool = False

    def where(self, column: str) -> Where:
        """Return the conditions; with `edge` the time also ends where the statement's `edge` says."""
        where = self.bounds.where(column)
        if self.edge:
            operator, default = (">=", _MIN_TIMESTAMP) if self.direction == "desc" else ("<=", MAX_INT64)
            where += Where((f"{column} {operator} coalesce((select at from edge), {default})",))
        return where

    def rows(self, first: str, value: Where, column: str) -> Where:
        """Return the same as comparisons of pairs, the first of which has one value.

        Only an index that begins with both columns has rows in their order. Of a plain equality PostgreSQL
        may think that so many rows have the value that all rows in the order of time are as good.
        """
        lower = _MIN_TIMESTAMP if self.bounds.lower is None else self.bounds.lower
        upper = MAX_INT64 if self.bounds.upper is None else self.bounds.upper
        placeholders = ["%s", "%s"]
        if self.edge:
            end = 0 if self.direction == "desc" else 1
            placeholders[end] = f"coalesce((select at from edge), {placeholders[end]})"
        pairs = tuple(
            f"({first}, {column}) {operator} ({value.conditions[0]}, {end})"
            for operator, end in zip((">=", "<="), placeholders, strict=True)
        )
        where = Where(pairs, (*value.values, lower, *value.values, min(upper, MAX_INT64)))
        where += replace(self.bounds, lower=None, upper=None).where(column)
        return where + month_conditions(self.bounds, column)


@dataclass(frozen=True, slots=True)
class Stream:
    """Rows of a table in the order of time, as one index holds them.

    `where`: conditions that the index has; `recheck`: those for which each of its rows is looked at. With
    `each` there is one stream for each value, which the conditions call `one.value`. `first`: a column with
    few values, which an index has before the time, and its `value`.
    """

    table: str
    alias: str
    where: Where = NOTHING
    recheck: Where = NOTHING
    each: tuple[int, ...] | None = None
    first: str = ""
    value: Where = NOTHING

    @property
    def time(self) -> str:
        return f"{self.alias}.consensus_timestamp"

    def keys(self, window: Window, recheck: Where, limit: int) -> Sql:
        """Return a statement of the first times of rows that also fulfil conditions on transaction t."""
        if recheck.conditions and self.alias != "t":
            recheck = _of_transaction_at(self.time, recheck, window)
        where = self.where + self.window_condition(window) + self.recheck + recheck
        distinct = "" if self.table.startswith("transaction ") else "distinct"
        text = f"""
            select {distinct} {self.time} from {self.table} {where.sql}
            order by {self.order(window)} limit {limit:d}
        """
        if self.each is None:
            return Sql(text, where.values)
        text = f"""
            select distinct part.consensus_timestamp from {self._lateral(text)}
            order by consensus_timestamp {window.direction} limit {limit:d}
        """
        return Sql(text, (list(self.each), *where.values))

    def all(self, window: Window) -> Sql:
        """Return a statement of the times of all rows of a window, whatever they are to be looked at for."""
        where = self.where + self.window_condition(window)
        text = f"select {self.time} from {self.table} {where.sql}"
        if self.each is None:
            return Sql(text, where.values)
        text = f"select part.consensus_timestamp from {self._lateral(text)}"
        return Sql(text, (list(self.each), *where.values))

    def row_at_offset(self, window: Window, number: int) -> Sql:
        """Return a statement of the time of the row after so many, of each stream that has one."""
        where = self.where + self.window_condition(window)
        if self.each is not None:
            number = max(_MIN_ROWS_PER_VALUE, number >> (len(self.each) - 1).bit_length())
        text = f"""
            select {self.time} as at from {self.table} {where.sql}
            order by {self.order(window)} offset {number:d} limit 1
        """
        if self.each is None:
            return Sql(f"({text})", where.values)
        return Sql(f"(select at from {self._lateral(text)})", (list(self.each), *where.values))

    def window_condition(self, window: Window) -> Where:
        return window.rows(self.first, self.value, self.time) if self.first else window.where(self.time)

    def order(self, window: Window) -> str:
        first = f"{self.first} {window.direction}, " if self.first else ""
        return f"{first}{self.time} {window.direction}"

    @staticmethod
    def _lateral(text: str) -> str:
        return f"unnest(%s::bigint[]) one (value) cross join lateral ({text}) part"


@dataclass(frozen=True, slots=True)
class Side:
    """Streams that drive, and the conditions of the other side on their transactions t."""

    streams: tuple[Stream, ...]
    recheck: Where = NOTHING

    @property
    def by_index(self) -> bool:
        """Whether no stream is merely all rows in the order of time."""
        return all(stream.where.conditions or stream.first for stream in self.streams)

    def keys(self, window: Window, limit: int) -> Sql:
        """Return a statement of the first times of the side's transactions that are in the list."""
        parts = [stream.keys(window, self.recheck, limit) for stream in self.streams]
        return concat(" union ", [Sql(f"({part.text})", part.values) for part in parts])

    def edge(self, window: Window, number: int) -> Sql:
        """Return a statement of the time that is reached by looking at so many rows of a stream, or null."""
        rows = concat(" union all ", [stream.row_at_offset(window, number) for stream in self.streams])
        nearest = "max" if window.direction == "desc" else "min"
        return Sql(f"select {nearest}(at) as at from ({rows.text}) nth", rows.values)


def intersect(left: Side, right: Side, window: Window, limit: int, few: int) -> Sql:
    """Return a statement of the first times of transactions of both sides within a window.

    This reads the indexes of both, and looks at no transaction but those that are in both. Of many
    values on the left side, each may have few times: if all have at most `few`, these are looked up instead.
    """
    times = [concat(" union all ", [stream.all(window) for stream in side.streams]) for side in (left, right)]
    of_left, of_right = times
    time = "met.consensus_timestamp"
    probe, recheck = (_of_transaction_at(time, side.recheck, window) for side in (left, right))
    page = f"{recheck.sql} order by consensus_timestamp {window.direction} limit {limit:d}"
    if all(stream.each is None for stream in left.streams):
        both = concat(" intersect ", [Sql(f"({part.text})", part.values) for part in times])
        text = f"select consensus_timestamp from ({both.text}) met {page}"
        return Sql(text, (*both.values, *recheck.values))
    text = f"""
        with met as materialized ({of_left.text}),
            number as materialized (
                select count(*) <= {few:d} as is_few from (select from met limit {few + 1:d}) first
            )
        select consensus_timestamp from (
            select distinct consensus_timestamp from met where (select is_few from number) {probe.and_sql}
            union all (
                select consensus_timestamp from met where not (select is_few from number)
                intersect select * from ({of_right.text}) found where not (select is_few from number)
            )
        ) met {page}
    """
    return Sql(text, (*of_left.values, *probe.values, *of_right.values, *recheck.values))


def _of_transaction_at(time: str, recheck: Where, window: Window) -> Where:
    """Return the condition that the transaction t of a time meets others."""
    # No join: PostgreSQL might merge it with all transactions, as it does not know the window.
    probe = f"select true from {TRANSACTION} where t.consensus_timestamp = {time}"
    probe += and_months(window.bounds, "t.consensus_timestamp")
    # Plain columns, so that a partial index of the conditions has the answer.
    conditions = recheck.and_sql.replace("(t.result + 0)", "t.result")
    return Where((f"({probe}{conditions} limit 1)",), recheck.values)


def concat(separator: str, parts: Sequence[Sql]) -> Sql:
    text = separator.join(part.text for part in parts)
    return Sql(text, tuple(value for part in parts for value in part.values))
