"""The plan by which PostgreSQL runs a statement of `mirror.core.db.reading.sql`, without running it."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from django.db import DEFAULT_DB_ALIAS, connections
from psycopg import sql

from mirror.core.db.availability import bounded_query
from mirror.core.db.reading.session import new_cursor

if TYPE_CHECKING:
    from mirror.core.db.statements import Values


def plan(text: str, values: "Values", *, seconds: float) -> str:
    """Return the plan of a statement with these values, read within so many seconds on its own connection.

    Errors: QueryTimeout, psycopg.Error, and Django's if there is no connection.
    """
    return bounded_query.run_query(lambda: _plan(text, values, str(round(seconds * 1000))), seconds)


def _plan(text: str, values: "Values", milliseconds: str) -> str:
    connection: Any = connections[DEFAULT_DB_ALIAS].connection
    cursor = new_cursor(connection, milliseconds)
    cursor.execute(f"explain {text}", values, binary=False)
    return "\n".join(str(line) for (line,) in cursor.fetchall())


def literals(values: "Values") -> list[str]:
    if isinstance(values, Mapping):
        return [f"{name} = {_literal(value)}" for name, value in values.items()]
    return [_literal(value) for value in values]


def _literal(value: Any) -> str:
    if isinstance(value, bytes | bytearray | memoryview):
        return f"'\\x{bytes(value).hex()}'::bytea"
    return sql.Literal(value).as_string(None)
