"""The plan by which PostgreSQL runs a statement of `mirror.core.db.reading.sql`, without running it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import pq, sql
from psycopg._queries import PostgresQuery
from psycopg.adapt import Transformer

from mirror.core.db.reading import bounded_query
from mirror.core.db.reading.sql import new_cursor

if TYPE_CHECKING:
    from mirror.core.db.reading.sql import Values

_NAME = "explained"


def plan(text: str, values: "Values", *, seconds: float) -> str:
    """Return the plan of a statement, read by a connection of its own within so many seconds.

    It is that of the prepared statement, which does not depend on the values. Errors: QueryTimeout,
    psycopg.Error, and Django's if there is no connection.
    """
    return bounded_query.run_query(lambda: _plan(text, values, str(round(seconds * 1000))), seconds)


def _plan(text: str, values: "Values", milliseconds: str) -> str:
    connection = connections[DEFAULT_DB_ALIAS].connection
    cursor = new_cursor(connection, milliseconds)
    query = PostgresQuery(Transformer(cursor))
    query.convert(text, values)
    result = connection.pgconn.prepare(_NAME.encode(), query.query, query.types)
    if result.status != pq.ExecStatus.COMMAND_OK:
        raise psycopg.errors.error_from_result(result)
    ordered = [values[name] for name in query._order or ()] if isinstance(values, Mapping) else values
    call = sql.SQL("({})" if ordered else "").format(sql.SQL(", ").join(map(sql.Literal, ordered)))
    cursor.format = pq.Format.TEXT
    cursor.execute(sql.SQL("explain execute {name}{call}").format(name=sql.Identifier(_NAME), call=call))
    return "\n".join(line for (line,) in cursor.fetchall())


def literals(values: "Values") -> list[str]:
    if isinstance(values, Mapping):
        return [f"{name} = {_literal(value)}" for name, value in values.items()]
    return [_literal(value) for value in values]


def _literal(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return f"'\\x{bytes(value).hex()}'::bytea"
    return sql.Literal(value).as_string(None)
