"""A connection that statements are read by: how PostgreSQL runs them, and for how long."""

import orjson
import psycopg
from psycopg.pq import TransactionStatus
from psycopg.types.json import set_json_loads
from psycopg.types.numeric import Int8Dumper

from mirror.core.db import distribution
from mirror.core.db.availability.unresponsive import WatchedConnection

# Citus finds the shards of most statements by their values, so there each run has a plan of its own.
_GENERIC, _CUSTOM = "force_generic_plan", "force_custom_plan"
# How often other statements run before they are prepared; psycopg's default.
_PREPARE_AFTER = 5
# So often the limit is set again if the one before ends the statement that sets it.
_ATTEMPTS = 20


def cursor(connection: WatchedConnection, seconds: float) -> psycopg.Cursor[tuple[object, ...]]:
    """Return the cursor of a connection whose statements may take so long; making one takes a statement."""
    if connection.pgconn.transaction_status != TransactionStatus.IDLE:
        # What is set in a transaction is gone if it is rolled back.
        return new_cursor(connection, str(max(round(seconds * 1000), 1)))
    found = connection.reading
    if found is not None and seconds == connection.limit:
        return found
    milliseconds = str(max(round(seconds * 1000), 1))
    if found is None:
        found = connection.reading = new_cursor(connection, milliseconds)
    else:
        _limit(connection, found, milliseconds)
    connection.limit = seconds
    return found


def new_cursor(connection: WatchedConnection, milliseconds: str) -> psycopg.Cursor[tuple[object, ...]]:
    """Return a cursor for reading, by the binary protocol."""
    # Django forbids prepared statements.
    connection.prepare_threshold = _PREPARE_AFTER
    made = psycopg.Cursor(connection)
    made.format = psycopg.pq.Format.BINARY
    made.adapters.register_dumper(int, Int8Dumper)
    set_json_loads(orjson.loads, made)
    # Compiling a plan to machine code takes longer than our statements may run. With PostgreSQL's own page
    # costs, all rows of a query would be read and sorted where a page has few on average.
    made.execute(
        """
        select set_config('statement_timeout', %s, false), set_config('jit', 'off', false),
            set_config('plan_cache_mode', %s, false), set_config('random_page_cost', '1.1', false)
        """,
        (milliseconds, _CUSTOM if distribution.is_distributed() else _GENERIC),
    )
    if distribution.is_distributed():
        # A second connection to a machine takes longer than what is read by it.
        made.execute("select set_config('citus.max_adaptive_executor_pool_size', '1', false)")
    return made


def _limit(
    connection: WatchedConnection, cursor: psycopg.Cursor[tuple[object, ...]], milliseconds: str
) -> None:
    """Set the time that statements may take. The time that counted before may be too short even for this."""
    for last in (False,) * _ATTEMPTS + (True,):
        try:
            cursor.execute("select set_config('statement_timeout', %s, false)", (milliseconds,))
            return
        except psycopg.errors.QueryCanceled:
            if last:
                raise
