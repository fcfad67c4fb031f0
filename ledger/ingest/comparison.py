"""Comparison of the rows that files give with the rows that are stored.

PostgreSQL compares: the expected rows go by COPY into a temporary table of the same columns, so that every
value has the type of its column; the difference of the two tables is taken in both directions.

Compared are the tables whose rows are inserted once, under a consensus timestamp, unless their model says
otherwise (`compared`). Entities, tokens, balances and other rows that later transactions change can't be told
from the files of a range alone.
"""

from collections import defaultdict
from collections.abc import Generator, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.apps import apps
from django.db import connection, models, transaction
from django.db.backends.utils import CursorWrapper

from ledger.ingest.rows.batch import Batch
from mirror.core.db.schema.tables import Compared, KeylessTable
from mirror.core.db.writing.copy import copy_rows, table_columns
from mirror.core.db.writing.rejected_rows import coerce_row

# Longer values are cut in messages.
_MAX_SHOWN = 120


@dataclass(frozen=True)
class RowDifference:
    """One row that is not as the files say; `stored` or `expected` is None when the row itself is missing.

    Of two unlike rows they hold the columns that differ, of a missing one those that have a value.
    """

    table: str
    consensus_timestamp: int
    stored: dict[str, Any] | None
    expected: dict[str, Any] | None

    def __str__(self) -> str:
        if self.stored is None:
            return f"{self.table}: a row is missing: {_text(self.expected or {})}"
        if self.expected is None:
            return f"{self.table}: a row is stored that the file does not give: {_text(self.stored)}"
        return "; ".join(
            f"{self.table}.{name}: stored {_value_text(value)}, expected {_value_text(self.expected[name])}"
            for name, value in self.stored.items()
        )


@dataclass(frozen=True)
class _Table:
    """A table to compare; with `found_by` only rows that share this expression with an expected one."""

    model: type[models.Model]
    name: str
    columns: tuple[str, ...]
    compared: Compared
    found_by: str


def differences(batches: Sequence[Batch], first: int, last: int) -> Generator[RowDifference]:
    """Yield where the tables differ from `batches` between two consensus timestamps (inclusive)."""
    # Deletions of tokens are completed at the end of a batch by rows and columns that no record tells.
    completed = {noted.consensus_timestamp for batch in batches for noted in batch.deferred_items()}
    with transaction.atomic(), connection.cursor() as cursor:
        for batch in batches:
            batch.complete(cursor)
        for table in _tables():
            rows = [row for batch in batches for row in batch.inserted(table.model)]
            for difference in _table_differences(cursor, table, rows, first, last):
                if difference.consensus_timestamp not in completed or not _completes(table, difference):
                    yield difference


def _table_differences(
    cursor: CursorWrapper, table: _Table, rows: list[dict[str, Any]], first: int, last: int
) -> list[RowDifference]:
    if not rows and table.found_by:
        return []
    expected = _expect(cursor, table, rows)
    expressions = {name: f'"{name}"' for name in table.columns} | dict(table.compared.instead)
    columns = ", ".join(expressions[name] for name in table.columns)
    older = dict(table.compared.older)
    values = ", ".join(
        f'coalesce("{name}", {older[name]})' if name in older else expressions[name] for name in table.columns
    )
    stored = f"select {values} from {table.name} where {table.compared.time} between {first:d} and {last:d}"
    if table.found_by:
        stored += f" and {table.found_by} in (select {table.found_by} from {expected})"
    cursor.execute(f"select {columns} from {expected} except all {stored}")
    missing = [dict(zip(table.columns, row, strict=True)) for row in cursor.fetchall()]
    cursor.execute(f"{stored} except all select {columns} from {expected}")
    extra = [dict(zip(table.columns, row, strict=True)) for row in cursor.fetchall()]
    return list(_pair(table, missing, extra))


def _expect(cursor: CursorWrapper, table: _Table, rows: list[dict[str, Any]]) -> str:
    """Fill a temporary table with the expected rows, and return its name."""
    name = f"pg_temp.expected_{table.name}"
    cursor.execute(
        f"create temporary table if not exists expected_{table.name} (like {table.name} including defaults) "
        "on commit delete rows"
    )
    columns = table_columns(table.model)
    defaults = [(column.name, column.default) for column in columns]
    # As loading stores what a column can't hold.
    values = (coerce_row([row.get(name, default) for name, default in defaults], columns) for row in rows)
    copy_rows(cursor, f"expected_{table.name}", columns, values)
    if table.found_by:
        cursor.execute(f"analyze {name}")
    return name


def _pair(
    table: _Table, missing: list[dict[str, Any]], extra: list[dict[str, Any]]
) -> Iterator[RowDifference]:
    """Pair each missing row with the stored one of its time that is most like it, if any is."""
    time = table.compared.time
    by_time: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in extra:
        by_time[row[time]].append(row)
    for row in missing:
        timestamp = row[time]
        match = max(by_time[timestamp], key=lambda other: _similarity(row, other), default=None)
        if match is None or _similarity(row, match) * 2 < len(row):
            yield RowDifference(table.name, timestamp, None, _without_nulls(row))
            continue
        by_time[timestamp].remove(match)
        names = [name for name, value in row.items() if match[name] != value]
        yield RowDifference(
            table.name, timestamp, {name: match[name] for name in names}, {name: row[name] for name in names}
        )
    for timestamp, rows in by_time.items():
        for row in rows:
            yield RowDifference(table.name, timestamp, _without_nulls(row), None)


def _completes(table: _Table, difference: RowDifference) -> bool:
    """Return whether work at the end of a batch explains the difference."""
    if difference.expected is None:
        return table.compared.completed_rows
    return difference.stored is not None and list(difference.stored) == [table.compared.completed_column]


def _similarity(row: dict[str, Any], other: dict[str, Any]) -> int:
    return sum(other[name] == value for name, value in row.items())


# TABLES


@cache
def _tables() -> tuple[_Table, ...]:
    tables = []
    for model in apps.get_models():
        compared: Compared | None = getattr(model, "compared", Compared())
        columns = [column.name for column in table_columns(model)]
        if compared is None or compared.time not in columns or hasattr(model, "merge"):
            continue
        columns = [name for name in columns if name not in compared.without]
        found_by = compared.found_by or _leading_column(model, compared.time)
        tables.append(_Table(model, model._meta.db_table, tuple(columns), compared, found_by))
    return tuple(tables)


def _leading_column(model: type[models.Model], time: str) -> str:
    """Return the first column of an index, none if an index starts with the time."""
    leading = [index.fields[0].removeprefix("-") for index in model._meta.indexes if index.fields]
    if not issubclass(model, KeylessTable):
        leading.append(model._meta.pk_fields[0].column)
    return "" if time in leading else leading[0]


# WORDS


def _without_nulls(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _text(row: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_value_text(value)}" for name, value in row.items())


def _value_text(value: Any) -> str:
    if value is None:
        return "null"
    text = f"\\x{bytes(value).hex()}" if isinstance(value, bytes | memoryview) else str(value)
    return text if len(text) <= _MAX_SHOWN else f"{text[:_MAX_SHOWN]}… ({len(text):,} characters)"
