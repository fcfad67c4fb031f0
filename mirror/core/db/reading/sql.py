"""Reading with SQL text: a statement with bound parameters in, tuples out.

Readers bypass Django's cursor. A statement is prepared on the server once per connection and uses the binary
protocol, which is several times cheaper for the same rows. Processes that answer requests read by pools of
connections (`mirror.core.db.reading.pools`), other processes and transactions by Django's connection. Whole
numbers are always sent as bigint, so that one text is one prepared statement; `compare` leaves out numbers
beyond 64 bits.

A statement is planned once, without its values: planning the larger ones costs more than running them, and
the plan that a test has seen is the plan of every request. So one plan has to suit all values:

- put the limit into the text: for an unknown one PostgreSQL expects a tenth of the table;
- a partial index is used only if the text itself implies its condition;
- a pattern for LIKE in a parameter can't use an ordinary index;
- where two indexes would do and one is wrong for some values, leave PostgreSQL no choice.
"""

import time
from collections.abc import Iterable
from typing import Any, NamedTuple, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

from mirror.core import config
from mirror.core.db.availability.unresponsive import WatchedConnection
from mirror.core.db.partitions import months
from mirror.core.db.reading import budget, pools, session, statements
from mirror.core.db.statements import Row as Row
from mirror.core.db.statements import Values as Values

MAX_INT64 = (1 << 63) - 1
MIN_INT64 = -(1 << 63)

# How often a statement is run again on another connection, as the one before was closed.
_RETRIES = 2

#: The setting that limits a statement's time, unless its reader names another. The budget of a request may
#: leave less.
TIMEOUT = "rest.db.statementTimeout"

_SYMBOLS = {"eq": "=", "ne": "<>", "gt": ">", "gte": ">=", "lt": "<", "lte": "<="}


class Comparison(NamedTuple):
    """A condition on a column: an operator (eq, ne, gt, gte, lt, lte) and a value.

    The value None stands for something that does not exist: it equals no row.
    """

    operator: str
    value: Any


class Where(NamedTuple):
    """Conditions joined by AND, with the values of their placeholders in order."""

    conditions: tuple[str, ...] = ()
    values: tuple[Any, ...] = ()

    def __add__(self, other: "Where") -> "Where":  # type: ignore[override]
        return Where(self.conditions + other.conditions, self.values + other.values)

    @property
    def sql(self) -> str:
        """`where ...`, or nothing."""
        return "where " + " and ".join(self.conditions) if self.conditions else ""

    @property
    def and_sql(self) -> str:
        """The same after other conditions: ` and ...`, or nothing."""
        return "".join(f" and {condition}" for condition in self.conditions)


#: No condition.
NOTHING = Where()


def compare(column: str, comparisons: Iterable[Comparison], *, any_equal: bool = True) -> Where:
    """Return the SQL of comparisons of one column; unless `any_equal` is off, one equality has to hold."""
    equal = [value for operator, value in comparisons if operator == "eq"] if any_equal else []
    conditions: list[str] = []
    values: list[Any] = []
    if equal:
        usable = [value for value in equal if not _is_out_of_range(value)]
        if len(usable) == 1:
            conditions.append(f"{column} = %s")
            values.append(usable[0])
        elif usable:
            conditions.append(f"{column} = any(%s)")
            values.append(usable)
        else:
            conditions.append("false")
    for operator, value in comparisons:
        if operator == "eq" and any_equal:
            continue
        if not _is_out_of_range(value):
            conditions.append(f"{column} {_SYMBOLS[operator]} %s")
            values.append(value)
        elif value is None or not _is_always_true(operator, value):
            conditions.append("false")
    if months.is_time(column) and months.months():
        conditions += _months(column, comparisons)
    return Where(tuple(conditions), tuple(values))


def _months(column: str, comparisons: Iterable[Comparison]) -> tuple[str, ...]:
    """Return the months that comparisons of a time imply, where tables are partitioned by month."""
    values: dict[str, list[int]] = {}
    for operator, value in comparisons:
        if not _is_out_of_range(value):
            values.setdefault(operator, []).append(value)
    equal = values.get("eq", [])
    lower = [min(equal, default=MIN_INT64), *values.get("gt", ()), *values.get("gte", ())]
    upper = [max(equal, default=MAX_INT64), *values.get("lt", ()), *values.get("lte", ())]
    return months.implied_conditions(column, max(lower), min(upper))


def _is_out_of_range(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not MIN_INT64 <= value <= MAX_INT64)


def _is_always_true(operator: str, value: int) -> bool:
    return operator == "ne" or operator in (("lt", "lte") if value > 0 else ("gt", "gte"))


def fetch(statement: str, values: Values = (), *, timeout: str = TIMEOUT) -> list[Row]:
    """Return all rows of a statement; `timeout` names the setting that limits it.

    Errors: psycopg.Error; TooManySlowRequests and Busy in a process with pools.
    """
    longest: float = config.value(timeout)
    own: Any = connections[DEFAULT_DB_ALIAS]
    reader = None if own.in_atomic_block else pools.reader()
    limit = budget.limit(longest) if timeout is TIMEOUT else longest
    if reader is not None and reader.slow_after < limit and not budget.is_slow():
        try:
            return reader.read(lambda lent: _rows(lent, statement, values, reader.slow_after), slow=False)
        except psycopg.errors.QueryCanceled:
            budget.become_slow()
    is_slow = reader is not None and budget.is_slow()

    def read(seconds: float) -> list[Row]:
        if reader is None:
            return _read_by_django(statement, values, seconds)
        return reader.read(lambda lent: _rows(lent, statement, values, seconds), slow=is_slow)

    try:
        return read(limit)
    except psycopg.errors.QueryCanceled:
        # In a transaction no statement can follow one that was canceled.
        if timeout is not TIMEOUT or own.in_atomic_block or not budget.may_run_again(longest):
            raise
    with budget.limited(longest):
        return read(longest)


def fetch_one(statement: str, values: Values = ()) -> Row | None:
    """Return the first row of a statement, or None. Errors: psycopg.Error."""
    rows = fetch(statement, values)
    return rows[0] if rows else None


def _read_by_django(statement: str, values: Values, seconds: float) -> list[Row]:
    own: Any = connections[DEFAULT_DB_ALIAS]
    for retries in range(_RETRIES, -1, -1):
        own.ensure_connection()
        opened: WatchedConnection = own.connection
        began = time.monotonic()
        try:
            return _rows(opened, statement, values, seconds, in_transaction=own.in_atomic_block)
        except psycopg.Error:
            own.errors_occurred = True
            # The server has closed an idle connection, for instance by a restart.
            if own.in_atomic_block or not opened.closed or not retries:
                raise
            own.close()
        finally:
            if own.force_debug_cursor:
                own.queries_log.append({"sql": statement, "time": f"{time.monotonic() - began:.3f}"})
    raise AssertionError


def _rows(
    connection: WatchedConnection,
    statement: str,
    values: Values,
    seconds: float,
    *,
    in_transaction: bool = False,
) -> list[Row]:
    """Return all rows of a statement that may take so long. Errors: psycopg.Error."""
    noted = statements.local.noted
    began, count = time.monotonic(), None
    try:
        cursor = session.cursor(connection, seconds)
        try:
            cursor.execute(statement, values, prepare=True)
        except psycopg.errors.FeatureNotSupported:
            if in_transaction:
                raise
            # "Cached plan must not change result type": a migration has changed a table.
            connection.execute("deallocate all")
            cursor.execute(statement, values, prepare=True)
        rows = cast(list[Row], cursor.fetchall())
        count = len(rows)
        return rows
    finally:
        if noted is not None:
            noted.append((statement, values, time.monotonic() - began, count))
