"""Binary COPY of rows into tables, the fastest way into PostgreSQL."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import psycopg
from django.conf import settings
from django.db import models
from django.db.backends.postgresql.psycopg_any import get_adapters_template
from django.db.backends.utils import CursorWrapper

# The public way to write a row needs a connection in the middle of a COPY; processes that have none encode
# rows, too.
from psycopg._copy_base import format_row_binary
from psycopg.adapt import AdaptersMap, Transformer
from psycopg.pq import Format
from psycopg.types.string import BytesBinaryDumper

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

# What binary COPY begins and ends with.
_SIGNATURE, _END = b"PGCOPY\n\xff\r\n\0" + bytes(8), b"\xff\xff"
_CHUNK_BYTES = 1 << 17


@dataclass(frozen=True)
class Column:
    """A column for COPY: name, type on the wire, default of missing values, most characters."""

    name: str
    type: str
    default: Any
    length: int | None = None


@dataclass(frozen=True, slots=True)
class EncodedRows:
    """So many rows of a table as binary COPY sends them, in one piece.

    `days` are those of the rows (since the epoch), where the table is partitioned by time on request.
    """

    count: int
    data: bytes
    days: frozenset[int] = frozenset()


# A row's values in the order of the columns; or rows that are encoded.
Row = Sequence[Any] | EncodedRows
# A row as it is added: its columns by name, or as above.
AddedRow = dict[str, Any] | Row


@cache
def column_names(model: type[models.Model]) -> tuple[str, ...]:
    return tuple(column.name for column in table_columns(model))


@cache
def table_columns(model: type[models.Model]) -> tuple[Column, ...]:
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


def copy_rows(cursor: CursorWrapper, table: str, columns: Sequence[Column], rows: Iterable[Row]) -> int:
    """Append `rows` to `table`, and return how many there were."""
    names = psycopg.sql.SQL(", ").join(psycopg.sql.Identifier(c.name) for c in columns)
    statement = psycopg.sql.SQL("copy {} ({}) from stdin (format binary)").format(
        psycopg.sql.Identifier(table), names
    )
    with cursor.copy(statement) as copy:
        copy.write(_SIGNATURE)
        for piece in _chunks(columns, rows):
            copy.write(piece)
        copy.write(_END)
    return int(cursor.rowcount)


def _chunks(columns: Sequence[Column], rows: Iterable[Row]) -> Iterator[bytes | bytearray]:
    transformer, out = row_transformer(columns), bytearray()
    for row in rows:
        if row.__class__ is EncodedRows:
            yield out
            yield row.data
            out = bytearray()
            continue
        format_row_binary(row, transformer, out)
        if len(out) > _CHUNK_BYTES:
            yield out
            out = bytearray()
    yield out


def row_transformer(columns: Sequence[Column]) -> Any:
    """Return the encoder of the values of these columns, which needs no connection."""
    transformer, types = Transformer(_adapters()), psycopg.adapters.types
    transformer.set_dumper_types([types.get_oid(column.type) for column in columns], Format.BINARY)
    return transformer


@cache
def _adapters() -> AdaptersMap:
    adapters = AdaptersMap(get_adapters_template(settings.USE_TZ, None))
    # The usual one of bytea also takes wrapped values, in Python.
    adapters.register_dumper(bytes, BytesBinaryDumper)
    return adapters
