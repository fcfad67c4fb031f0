"""The rows that files give, compared with the rows that are stored.

PostgreSQL compares: what is expected goes by COPY into a temporary table of the same columns, so that every
value has the type of its column; the difference of the two is taken in both directions.

What is compared are the tables whose rows are inserted once, under a consensus timestamp. Entities, tokens,
balances and other rows that later transactions change can't be told from the files of a range alone.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from django.apps import apps
from django.db import connection, models, transaction
from django.db.backends.utils import CursorWrapper

from ledger.ingest.batch import Batch
from ledger.models import (
    AccountBalance,
    AccountBalanceFile,
    RecordFile,
    SidecarFile,
    Transaction,
    TransactionHash,
)
from mirror.db.copy import columns_of, copy_rows
from mirror.db.tables import KeylessTable
from network.models import AddressBook, AddressBookEntry, AddressBookServiceEndpoint
from tokens.models import TokenBalance, TokenTransfer

_APPS = ("ledger", "tokens", "contracts", "network")
# Their rows are computed from other tables, not from one transaction each.
_COMPUTED = (
    *(AccountBalance, AccountBalanceFile, TokenBalance),
    *(AddressBook, AddressBookEntry, AddressBookServiceEndpoint),
)
# When something was loaded, and from which of the nodes that have the same file.
_NOT_COMPARED: dict[type[models.Model], set[str]] = {
    RecordFile: {"load_start", "load_end", "node_id", "bytes"},
    SidecarFile: {"bytes"},
}
_TIMES = ("consensus_timestamp", "consensus_end")
# Characters of a value that are shown.
_SHOWN = 120


@dataclass(frozen=True)
class RowDifference:
    """One row that is not as the files say; `stored` or `expected` is None when the row itself is missing.

    Of two rows the columns that differ are given; of a missing one those that have a value.
    """

    table: str
    consensus_timestamp: int
    stored: dict[str, Any] | None
    expected: dict[str, Any] | None

    def __str__(self) -> str:
        if self.stored is None:
            return f"{self.table}: a row is missing: {_words(self.expected or {})}"
        if self.expected is None:
            return f"{self.table}: a row is stored that the file does not give: {_words(self.stored)}"
        return "; ".join(
            f"{self.table}.{name}: stored {_word(value)}, expected {_word(self.expected[name])}"
            for name, value in self.stored.items()
        )


@dataclass(frozen=True)
class _Table:
    """How a table's rows of a time are found.

    `time` is the column of the consensus timestamp. Without an index by it, only rows whose `narrowed`
    (column or expression) is among those expected are looked at.
    """

    model: type[models.Model]
    name: str
    columns: tuple[str, ...]
    time: str
    narrowed: str


def differences(batches: Sequence[Batch], first: int, last: int) -> Iterator[RowDifference]:
    """What the tables hold otherwise than `batches` say, between two consensus timestamps (inclusive)."""
    completed = {noted.consensus_timestamp for batch in batches for noted in batch.noted()}
    with transaction.atomic(), connection.cursor() as cursor:
        for batch in batches:
            batch.evm_addresses.write(cursor)
        for table in _tables():
            rows = [row for batch in batches for row in batch.inserted(table.model)]
            for difference in _of_table(cursor, table, rows, first, last):
                if difference.consensus_timestamp in completed and _is_completion(table, difference):
                    continue
                yield difference


def _of_table(
    cursor: CursorWrapper, table: _Table, rows: list[dict[str, Any]], first: int, last: int
) -> list[RowDifference]:
    if not rows and table.narrowed:
        return []
    expected = _expect(cursor, table, rows)
    columns = ", ".join(f'"{name}"' for name in table.columns)
    stored = f"select {columns} from {table.name} where {table.time} between {first:d} and {last:d}"
    if table.narrowed:
        stored += f" and {table.narrowed} in (select {table.narrowed} from {expected})"
    cursor.execute(f"select {columns} from {expected} except all {stored}")
    missing = [dict(zip(table.columns, row, strict=True)) for row in cursor.fetchall()]
    cursor.execute(f"{stored} except all select {columns} from {expected}")
    surplus = [dict(zip(table.columns, row, strict=True)) for row in cursor.fetchall()]
    return list(_paired(table, missing, surplus))


def _expect(cursor: CursorWrapper, table: _Table, rows: list[dict[str, Any]]) -> str:
    """A temporary table with the expected rows."""
    name = f"pg_temp.expected_{table.name}"
    cursor.execute(
        f"create temporary table if not exists expected_{table.name} (like {table.name} including defaults) "
        "on commit delete rows"
    )
    columns = columns_of(table.model)
    wanted = [(column.name, column.default) for column in columns]
    values = ([row.get(name, default) for name, default in wanted] for row in rows)
    copy_rows(cursor, f"expected_{table.name}", columns, values)
    if table.narrowed:
        cursor.execute(f"analyze {name}")
    return name


def _paired(
    table: _Table, missing: list[dict[str, Any]], surplus: list[dict[str, Any]]
) -> Iterator[RowDifference]:
    """Each missing row with the stored one of its time that is most like it, if any is."""
    by_time: dict[int, list[dict[str, Any]]] = defaultdict(list)
    for row in surplus:
        by_time[row[table.time]].append(row)
    for row in missing:
        at = row[table.time]
        near = max(by_time[at], key=lambda other: _likeness(row, other), default=None)
        if near is None or _likeness(row, near) * 2 < len(row):
            yield RowDifference(table.name, at, None, _given(row))
            continue
        by_time[at].remove(near)
        unlike = [name for name, value in row.items() if near[name] != value]
        yield RowDifference(
            table.name, at, {name: near[name] for name in unlike}, {name: row[name] for name in unlike}
        )
    for at, rows in by_time.items():
        for row in rows:
            yield RowDifference(table.name, at, _given(row), None)


def _is_completion(table: _Table, difference: RowDifference) -> bool:
    """Whether a transaction that gives up deleted tokens explains this: the end of a batch adds what its
    record does not tell.
    """
    if table.model is TokenTransfer:
        return difference.expected is None
    return (
        table.model is Transaction
        and difference.stored is not None
        and list(difference.stored) == ["nft_transfer"]
    )


def _likeness(row: dict[str, Any], other: dict[str, Any]) -> int:
    return sum(other[name] == value for name, value in row.items())


# TABLES


@cache
def _tables() -> tuple[_Table, ...]:
    found = []
    for app in _APPS:
        for model in apps.get_app_config(app).get_models():
            columns = [column.name for column in columns_of(model)]
            time = next((name for name in _TIMES if name in columns), None)
            if time is None or model in _COMPUTED or hasattr(model, "merge"):
                continue
            compared = tuple(name for name in columns if name not in _NOT_COMPARED.get(model, ()))
            found.append(_Table(model, model._meta.db_table, compared, time, _narrowed(model, time)))
    return tuple(found)


def _narrowed(model: type[models.Model], time: str) -> str:
    if model is TransactionHash:
        return "substring(hash from 1 for 32)"
    leading = [index.fields[0].removeprefix("-") for index in model._meta.indexes if index.fields]
    if not issubclass(model, KeylessTable):
        leading.append(model._meta.pk_fields[0].column)
    return "" if time in leading else leading[0]


# WORDS


def _given(row: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in row.items() if value is not None}


def _words(row: dict[str, Any]) -> str:
    return ", ".join(f"{name}={_word(value)}" for name, value in row.items())


def _word(value: Any) -> str:
    if value is None:
        return "null"
    text = f"\\x{bytes(value).hex()}" if isinstance(value, bytes | memoryview) else str(value)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}… ({len(text):,} characters)"
