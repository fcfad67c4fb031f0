"""COPY of rows that may not fit their table.

A record may have what no column can hold: an unsigned number of 64 bits, a NUL character, the same storage
slot twice. Such rows are rare, so they are changed only after PostgreSQL has refused the rows of a table. All
others cost a savepoint per table.
"""

from collections.abc import Callable, Iterable, Sequence
from operator import itemgetter
from typing import Any

import psycopg
from django.db import transaction
from django.db.backends.utils import CursorWrapper
from psycopg._copy_base import format_row_binary

from mirror.core import logs
from mirror.core.db.distribution import BY_TRANSACTION, is_distributed
from mirror.core.db.writing.copy import Column, EncodedRows, Row, copy_rows, row_transformer

log = logs.logger(__name__)

# The range of int8; for smaller columns the driver itself takes the bits.
_MIN, _MAX = -(1 << 63), (1 << 63) - 1
# What a worker of Citus refuses during COPY, the coordinator reports as an internal error, without its code.
_DUPLICATE = (psycopg.errors.UniqueViolation, psycopg.errors.InternalError_)
REJECTED = (psycopg.DataError, *_DUPLICATE, OverflowError)
_KEY_COLUMNS = "select indnkeyatts from pg_index where indexrelid = %s::regclass"


def copy_valid(
    cursor: CursorWrapper, table: str, columns: Sequence[Column], rows: Callable[[], Iterable[Row]]
) -> int:
    """Append rows to `table`, with values that their columns can hold, and return how many there were.

    Of rows with the same key, stored ones included, the first counts. A key of a single column is that of a
    transaction or a file, which is loaded only once: a second row is an error. `rows` returns the same rows
    each time it is called.
    """
    try:
        with transaction.atomic(using=cursor.db.alias):
            return copy_rows(cursor, table, columns, rows())
    except REJECTED as error:
        _raise_if_loaded(cursor, table, error)
        log.warning("rows_fitted", table=table, reason=str(error).partition("\n")[0])
    fitting = [row if isinstance(row, EncodedRows) else coerce_row(row, columns) for row in rows()]
    try:
        with transaction.atomic(using=cursor.db.alias):
            return copy_rows(cursor, table, columns, fitting)
    except _DUPLICATE as error:
        _raise_if_loaded(cursor, table, error)
        return _insert_distinct(cursor, table, columns, fitting)


def _raise_if_loaded(cursor: CursorWrapper, table: str, error: Exception) -> None:
    if isinstance(error, psycopg.errors.InternalError_) and (table in BY_TRANSACTION or not is_distributed()):
        raise error
    if isinstance(error, psycopg.errors.UniqueViolation):
        cursor.execute(_KEY_COLUMNS, [f'"{error.diag.constraint_name}"'])
        (columns,) = cursor.fetchone()
        if columns == 1:
            raise error


def _insert_distinct(
    cursor: CursorWrapper, table: str, columns: Sequence[Column], rows: Iterable[Row]
) -> int:
    names = ", ".join(f'"{column.name}"' for column in columns)
    cursor.execute(
        f"create temporary table fitting on commit drop as select {names} from {table} with no data; "
        "alter table fitting add row bigint generated always as identity"
    )
    count = copy_rows(cursor, "fitting", columns, rows)
    cursor.execute(
        f"insert into {table} ({names}) select {names} from fitting order by row on conflict do nothing"
    )
    cursor.execute("drop table fitting")
    return count


class Encoder:
    """Encodes rows of one table, each as its columns can hold it."""

    def __init__(self, columns: Sequence[Column]) -> None:
        self._columns = columns
        self._transformer = row_transformer(columns)
        # The columns whose values only the server may refuse: text that is too long or has a NUL character.
        self._doubtful = [i for i, column in enumerate(columns) if column.type in ("text", "jsonb")]

    def encode(self, rows: Iterable[Any]) -> EncodedRows:
        """Encode rows, whose values are in the order of the columns."""
        out, transformer, doubtful = bytearray(), self._transformer, self._doubtful
        # Two columns at least, so that there is a tuple to compare.
        values = itemgetter(*doubtful, *doubtful) if doubtful else len
        without = values([None] * len(self._columns))
        count = 0
        for row in rows:
            count += 1
            if values(row) != without:
                row = self._fit_texts(row)
            end = len(out)
            try:
                format_row_binary(row, transformer, out)
            except REJECTED:
                del out[end:]
                format_row_binary(coerce_row(row, self._columns), transformer, out)
        return EncodedRows(count, bytes(out))

    def _fit_texts(self, row: Sequence[Any]) -> Sequence[Any]:
        """Return the row with texts as their columns can hold them; nearly all are so already."""
        for position in self._doubtful:
            value, length = row[position], self._columns[position].length
            if value is None or (isinstance(value, str) and _fits(value, length)):
                continue
            fitting = _coerce(value, self._columns[position].type)
            row = list(row)
            row[position] = fitting[:length] if isinstance(fitting, str) else fitting
        return row


def _fits(text: str, length: int | None) -> bool:
    return "\0" not in text and (length is None or len(text) <= length)


def coerce_row(row: Sequence[Any], columns: Sequence[Column]) -> list[Any]:
    """Return the row with every value as its column can hold it."""
    return [
        _coerce(value, column.type)[: column.length]
        if isinstance(value, str)
        else _coerce(value, column.type)
        for value, column in zip(row, columns, strict=True)
    ]


def _coerce(value: Any, kind: str) -> Any:
    if isinstance(value, list):
        return [_coerce(element, kind.removesuffix("[]")) for element in value]
    if isinstance(value, dict):
        return {name: _coerce(member, kind) for name, member in value.items()}
    if isinstance(value, str):
        return value.replace("\0", "\ufffd")
    if isinstance(value, int) and kind == "int8":
        return _number(value)
    return value


def _number(value: int) -> int:
    """Return the signed number with the bits of an unsigned one; beyond 64 bits the nearest number."""
    if _MAX < value < 1 << 64:
        return value - (1 << 64)
    return min(max(value, _MIN), _MAX)
