"""Reading with SQL text: a statement with bound parameters in, tuples out.

Readers bypass Django's cursor. A statement is prepared on the server once per connection and uses the binary
protocol, which is several times cheaper for the same rows. Whole numbers are always sent as bigint, so that
one text is one prepared statement; `compare` leaves out numbers beyond 64 bits.

A statement is planned once, without its values: planning the larger ones costs more than running them, and
the plan that a test has seen is the plan of every request. So one plan has to suit all values:

- put the limit into the text: for an unknown one PostgreSQL expects a tenth of the table;
- a partial index is used only if the text itself implies its condition;
- a pattern for LIKE in a parameter can't use an ordinary index;
- where two indexes would do and one is wrong for some values, leave PostgreSQL no choice.
"""

import time
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import orjson
import psycopg
from psycopg.types.json import set_json_loads
from psycopg.types.numeric import Int8Dumper

from mirror.core import config
from mirror.core.db import distribution
from mirror.core.db.partitions import months
from mirror.core.db.reading import budget, statements
from mirror.core.db.reading.prepared import PreparedStatements
from mirror.core.db.scheduling import request_scheduler
from mirror.core.db.scheduling.connection_lease import ConnectionLease
from mirror.core.db.statements import Row as Row
from mirror.core.db.statements import Values as Values

if TYPE_CHECKING:
    from mirror.core.db.backend.base import DatabaseWrapper

#: A replica conflicts with the replay of changes, or its session waits for that in a circle.
CONFLICTS = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)

MAX_INT64 = (1 << 63) - 1
MIN_INT64 = -(1 << 63)

# Citus finds the shards of most statements by their values, so there each run has a plan of its own.
_GENERIC, _CUSTOM = "force_generic_plan", "force_custom_plan"

# A statement is prepared when it is run for the second time on a connection.
_PREPARE_AFTER = 1

# How often a statement is run again on another connection; the one to the primary may be a stale one, too.
_RETRIES = 2

# So often the limit is set again if the one before ends the statement that sets it.
_ATTEMPTS = 20

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


def own_session(own: "DatabaseWrapper", error: psycopg.Error | None = None) -> "DatabaseWrapper":
    """Return a thread's own connection; a new one after an error. Errors: OperationalError."""
    if error is not None:
        own.close()
    if own.connection is None:
        own.ensure_connection()
    return own


SessionChoice = Callable[["DatabaseWrapper", "psycopg.Error | None"], "DatabaseWrapper"]
# Returns what a thread reads with, by its own connection, and by the error of the statement before.
_session: SessionChoice = own_session


def choose_session(session: SessionChoice = own_session) -> None:
    """Have this process read by what `session` returns, as `own_session` does."""
    global _session
    _session = session


def reads_replicas() -> bool:
    return _session is not own_session


def fetch(statement: str, values: Values = (), *, timeout: str = TIMEOUT) -> list[Row]:
    """Return all rows of a statement; `timeout` names the setting that limits it. Errors: psycopg.Error."""
    try:
        return _fetch(statement, values, timeout)
    except psycopg.errors.QueryCanceled:
        longest: float = config.value(timeout)
        # In a transaction no statement can follow one that was canceled.
        in_transaction = request_scheduler.own_connection().in_atomic_block
        if timeout is not TIMEOUT or in_transaction or not budget.may_run_again(longest):
            raise
    with budget.limited(longest):
        return _fetch(statement, values, timeout)


def _fetch(
    statement: str,
    values: Values,
    timeout: str,
    failure: psycopg.Error | None = None,
    retries: int = _RETRIES,
) -> list[Row]:
    """Return all rows of a statement; `failure` is that of the attempt before. Errors: psycopg.Error."""
    own = request_scheduler.own_connection()
    lease: ConnectionLease | None = own.lease
    if lease is not None and lease.interrupted:
        request_scheduler.resume(lease)
        return _fetch(statement, values, timeout)
    session = own if own.in_atomic_block else _session(own, failure)
    try:
        return read(own, session, statement, values, timeout)
    except psycopg.OperationalError as error:
        is_closed = session.connection.closed
        if lease is not None and lease.interrupted and not (own.in_atomic_block or is_closed):
            request_scheduler.resume(lease)
            return _fetch(statement, values, timeout)
        session.errors_occurred = True
        has_conflict = session is not own and isinstance(error, CONFLICTS)
        if own.in_atomic_block or not (is_closed or has_conflict):
            raise
        if not retries:
            # For the client a conflict is an outage like others.
            raise psycopg.OperationalError(str(error)) from error
        failure = error
    except psycopg.Error:
        session.errors_occurred = True
        raise
    # The server has closed an idle connection, for instance by a restart, or has to replay changes first.
    return _fetch(statement, values, timeout, failure, retries - 1)


def read(
    own: "DatabaseWrapper", session: "DatabaseWrapper", statement: str, values: Values, timeout: str
) -> list[Row]:
    """Return all rows of a statement by a session: this thread's `own` connection, or one that goes with it.

    Errors: psycopg.Error.
    """
    noted = statements.local.noted
    began, count = time.monotonic(), None
    try:
        try:
            rows = _read(own, session, statement, values, timeout)
        except (psycopg.errors.FeatureNotSupported, psycopg.errors.InvalidSqlStatementName):
            if own.in_atomic_block:
                raise
            # "Cached plan must not change result type": a migration has changed a table of a prepared
            # statement. Or psycopg has forgotten those of its own after a transaction that was rolled back,
            # and so all.
            session.connection.execute("deallocate all")
            session.prepared = None
            rows = _read(own, session, statement, values, timeout)
        count = len(rows)
        return rows
    finally:
        if noted is not None:
            noted.append((statement, values, time.monotonic() - began, count))
        if own.force_debug_cursor:
            own.queries_log.append({"sql": statement, "time": f"{time.monotonic() - began:.3f}"})


def _read(
    own: "DatabaseWrapper", session: "DatabaseWrapper", statement: str, values: Values, timeout: str
) -> list[Row]:
    cursor = reading_cursor(session, timeout)
    lease: ConnectionLease | None = own.lease
    if lease is not None:
        lease.is_reading = True
    rows: list[Row] | None = None
    try:
        if lease is not None and not own.in_atomic_block:
            # Whoever has interrupted it just before has seen nothing to cancel.
            if lease.interrupted:
                raise psycopg.errors.QueryCanceled
            if session.prepared is None:
                session.prepared = PreparedStatements(cursor)
            rows = session.prepared.rows(statement, values)
        if rows is None:
            cursor.execute(statement, values)
            rows = cursor.fetchall()
        return rows
    finally:
        if lease is not None:
            lease.is_reading = False


def fetch_one(statement: str, values: Values = ()) -> Row | None:
    """Return the first row of a statement, or None. Errors: psycopg.Error."""
    rows = fetch(statement, values)
    return rows[0] if rows else None


def reading_cursor(wrapper: "DatabaseWrapper", timeout: str) -> psycopg.Cursor[Row]:
    """Return the connection's cursor for reading; making one costs as much as a small query."""
    connection = wrapper.connection
    seconds: float = config.value(timeout)
    if timeout is TIMEOUT:
        seconds = budget.limit(seconds)
    cursor, current_seconds = wrapper.reading or (None, 0.0)
    if cursor is not None and seconds == current_seconds and cursor.connection is connection:
        return cursor
    milliseconds = str(max(round(seconds * 1000), 1))
    if cursor is None or cursor.connection is not connection:
        wrapper.prepared = None
        connection.prepare_threshold = _PREPARE_AFTER
        cursor = new_cursor(connection, milliseconds)
    else:
        _limit(wrapper, cursor, milliseconds)
    wrapper.reading = cursor, seconds
    return cursor


def new_cursor(connection: psycopg.Connection[Row], milliseconds: str) -> psycopg.Cursor[Row]:
    """Return a cursor for reading, whose statements may take so long."""
    cursor = psycopg.Cursor(connection)
    cursor.format = psycopg.pq.Format.BINARY
    cursor.adapters.register_dumper(int, Int8Dumper)
    set_json_loads(orjson.loads, cursor)
    # Compiling a plan to machine code takes longer than our statements may run. With PostgreSQL's own page
    # costs, all rows of a query would be read and sorted where a page has few on average.
    cursor.execute(
        """
        select set_config('statement_timeout', %s, false), set_config('jit', 'off', false),
            set_config('plan_cache_mode', %s, false), set_config('random_page_cost', '1.1', false)
        """,
        (milliseconds, _CUSTOM if distribution.is_distributed() else _GENERIC),
    )
    if distribution.is_distributed():
        # A second connection to a machine takes longer than what is read by it.
        cursor.execute("select set_config('citus.max_adaptive_executor_pool_size', '1', false)")
    return cursor


def _limit(wrapper: "DatabaseWrapper", cursor: psycopg.Cursor[Row], milliseconds: str) -> None:
    """Set the time that statements may take. The time that counted before may be too short even for this."""
    for last in (False,) * _ATTEMPTS + (True,):
        try:
            cursor.execute("select set_config('statement_timeout', %s, false)", (milliseconds,))
            return
        except psycopg.errors.QueryCanceled:
            if last or wrapper.in_atomic_block:
                raise
