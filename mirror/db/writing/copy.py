"""Binary COPY of rows into tables, the fastest way into PostgreSQL."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import psycopg
from django.db import models
from django.db.backends.utils import CursorWrapper

# The types that COPY sends, by column type: domains and enums as their base type.
_WIRE_TYPES = {
    "bigint": "int8",
    "integer": "int4",
    "smallint": "int2",
    "boolean": "bool",
    "bytea": "bytea",
    "jsonb": "jsonb",
    "bigint[]": "int8[]",
    "integer[]": "int4[]",
    "smallint[]": "int2[]",
    "bytea[]": "bytea[]",
    "entity_id": "int8",
    "hbar_tinybars": "int8",
    "nanos_timestamp": "int8",
    "int8range": "int8range",
    "timestamp with time zone": "timestamptz",
}


@dataclass(frozen=True)
class Column:
    """A column for COPY: name, type on the wire, default of missing values, most characters."""

    name: str
    type: str
    default: Any
    length: int | None = None


@cache
def columns_of(model: type[models.Model]) -> tuple[Column, ...]:
    """Return the columns of a model's table, in the model's order."""
    from django.db import connection

    columns = []
    for field in model._meta.concrete_fields:
        if not field.column:
            continue  # a composite key is no column
        database_type = field.db_type(connection) or ""
        default = getattr(field.db_default, "value", field.db_default) if field.has_db_default() else None
        columns.append(
            Column(field.column, _WIRE_TYPES.get(database_type, "text"), default, field.max_length)
        )
    return tuple(columns)


def copy_rows(
    cursor: CursorWrapper, table: str, columns: Sequence[Column], rows: Iterable[Sequence[Any]]
) -> None:
    """Append `rows`, whose values are in the order of `columns`, to `table`."""
    names = psycopg.sql.SQL(", ").join(psycopg.sql.Identifier(c.name) for c in columns)
    statement = psycopg.sql.SQL("copy {} ({}) from stdin (format binary)").format(
        psycopg.sql.Identifier(table), names
    )
    with cursor.copy(statement) as copy:
        copy.set_types([c.type for c in columns])
        write = copy.write_row
        for row in rows:
            write(row)
