"""The rows of a batch of stream files, collected in memory and written in one database transaction.

Handlers call `insert` and `upsert`. `write` then takes one COPY for each table, or for a versioned table one
COPY into a staging table and at most two statements. No statement is run per row. Between barriers that lie
close together, the few changes of a table are a parameter of its statements, which are sent without waiting
for each other's results.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from itertools import chain
from operator import itemgetter
from typing import Any

import psycopg
from django.db import models, transaction
from django.db.backends.utils import CursorWrapper

from mirror.core.db.distribution import is_distributed
from mirror.core.db.partitions.catalogue import TIME
from mirror.core.db.schema.tables import PartitionableTable
from mirror.core.db.writing.copy import AddedRow, Column, EncodedRows, Row, column_names, table_columns
from mirror.core.db.writing.merge import Change, Merge, MergeRule, Pending, RunningSum
from mirror.core.db.writing.rejected_rows import REJECTED, copy_valid
from mirror.core.metrics import ingest
from mirror.core.values.timestamp import NANOS_PER_DAY

Work = Callable[[CursorWrapper, list[Any]], None]

# As many changes between two barriers take less time as parameters than in staging tables.
_MAX_INLINE = 500


# The columns of a change and since when they hold; the last says that it establishes the object.
Recorded = tuple[int | None, dict[str, Any], bool]


@dataclass(slots=True)
class FilePart:
    """The rows and changes of a file between two barriers, and the barrier at their end."""

    rows: dict[type[models.Model], EncodedRows] = field(default_factory=dict)
    changes: dict[type[models.Model], list[Recorded]] = field(default_factory=dict)
    # The sums after these changes.
    sums: dict[type[models.Model], Mapping[Any, RunningSum]] = field(default_factory=dict)
    deferred: dict[Work, list[Any]] = field(default_factory=dict)
    barrier: Callable[[CursorWrapper], None] | None = None


class _Segment:
    """Rows between two barriers. Those of files that were read elsewhere are encoded."""

    def __init__(self) -> None:
        self.inserted: dict[type[models.Model], list[AddedRow]] = {}
        # The rows of encoded pieces, beyond one for each.
        self.encoded = 0
        self.pending: dict[type[models.Model], Pending] = {}
        self.deferred: dict[Work, list[Any]] = {}
        self.barrier: Callable[[CursorWrapper], None] | None = None

    def __len__(self) -> int:
        return sum(map(len, self.inserted.values())) + self.encoded + sum(map(len, self.pending.values()))

    def write(self, cursor: CursorWrapper) -> None:
        pending = {
            _merge(model): each for model, each in self.pending.items() if len(each) or each.conditional
        }
        for merge, changes in pending.items():
            ingest.ROWS.labels(merge.table).inc(len(changes))
            _resolve(cursor, merge, changes)
        if pending and not self._write_inline(cursor, pending):
            for merge, changes in pending.items():
                _write_changes(cursor, merge, changes)
        for model, rows in self.inserted.items():
            if _is_ordered(model):
                _insert(cursor, model, rows)
        for work, items in self.deferred.items():
            work(cursor, items)
        if self.barrier:
            self.barrier(cursor)

    def _write_inline(self, cursor: CursorWrapper, pending: Mapping[Merge, Pending]) -> bool:
        """Write a few changes without staging; return whether PostgreSQL took them."""
        if sum(map(len, pending.values())) > _MAX_INLINE or is_distributed():
            return False
        try:
            with (
                transaction.atomic(using=cursor.db.alias),
                psycopg.Cursor(cursor.connection) as prepared,
                cursor.connection.pipeline(),
            ):
                for merge, changes in pending.items():
                    for statement, inline in _statements(merge, changes):
                        prepared.execute(merge.inline_changes + statement, merge.inline_values(inline))
        except REJECTED:
            return False
        return True


class Rows:
    """The rows of a batch: models with a `merge` rule take `upsert`, the others `insert`."""

    def __init__(self) -> None:
        self._segments: list[_Segment] = []
        # Silent changes of the file being read from before the last barrier.
        self._file_changes: dict[type[models.Model], dict[Any, Change]] = {}
        self._start_segment()

    def _start_segment(self) -> None:
        segment = _Segment()
        self._segments.append(segment)
        self._inserted, self._pending = segment.inserted, segment.pending

    def insert(self, model: type[models.Model], **columns: Any) -> dict[str, Any]:
        """Add a row; missing columns take their default. The returned dict may be completed later."""
        self._inserted.setdefault(model, []).append(columns)
        return columns

    def rows_for(self, model: type[models.Model]) -> list[Any]:
        """Return the list that takes rows of a table until the next barrier: values in the model's order."""
        return self._inserted.setdefault(model, [])

    def changes_for(self, model: type[models.Model]) -> Pending:
        """Return what `upsert` adds to until the next barrier, for tables with very many changes."""
        pending = self._pending.get(model)
        if pending is None:
            pending = self._pending[model] = self._new_changes(_rule(model), self._file_changes.get(model))
        return pending

    def upsert(self, model: type[models.Model], since: int | None = None, **columns: Any) -> None:
        """Change an object: as a new version from `since` (consensus timestamp) on, without it silently."""
        self.changes_for(model).add(columns, since)

    def create_if_absent(self, model: type[models.Model], since: int, **columns: Any) -> None:
        """Start a version of an object unless it exists (the rule's `present`)."""
        self.changes_for(model).create_if_absent(columns, since)

    def _new_changes(self, rule: MergeRule, earlier: dict[Any, Change] | None) -> Pending:
        return Pending(rule, earlier)

    def add_part(self, part: FilePart) -> None:
        """Add rows and changes of the file being read, which were recorded elsewhere."""
        for model, changes in part.changes.items():
            pending = self.changes_for(model)
            for since, columns, establishes in changes:
                if establishes and since is not None:
                    pending.create_if_absent(columns, since)
                else:
                    pending.add(columns, since)
        for model, moves in part.sums.items():
            self.changes_for(model).add_sums(moves)
        for model, rows in part.rows.items():
            self._inserted.setdefault(model, []).append(rows)
            self._segments[-1].encoded += rows.count - 1
        for work, items in part.deferred.items():
            self._segments[-1].deferred.setdefault(work, []).extend(items)
        if part.barrier:
            self.barrier(part.barrier)

    def defer(self, work: Work, item: Any) -> None:
        """Do `work` once, with all its items, when all up to the next barrier is written.

        It may change rows that are not listed, as long as nothing later in the stream touches them.
        """
        self._segments[-1].deferred.setdefault(work, []).append(item)

    def barrier(self, work: Callable[[CursorWrapper], None]) -> None:
        """Do `work` in the database when everything so far is written and nothing after it.

        For the rare transaction that changes rows that are not listed, such as all serials of a treasury.
        """
        self._segments[-1].barrier = work
        self._file_changes |= {model: pending.file_changes() for model, pending in self._pending.items()}
        self._start_segment()

    def end_file(self) -> None:
        """Mark the end of a file: what follows is of the next one."""
        self._file_changes = {}
        for pending in self._pending.values():
            pending.end_file()

    def columns_set_at(self, model: type[models.Model], key: Any, at: int) -> Collection[str]:
        """Return the columns that versions from `at` on gave the object `key` since the last barrier."""
        pending = self._pending.get(model)
        return () if pending is None else pending.columns_set_at(key, at)

    def row_lists(self, model: type[models.Model]) -> Iterator[list[Any]]:
        """Yield the lists of rows that this batch inserts into the model's table so far, to be changed."""
        for segment in self._segments:
            if model in segment.inserted:
                yield segment.inserted[model]

    def inserted(self, model: type[models.Model]) -> Iterator[dict[str, Any]]:
        """Yield the rows that this batch inserts into the model's table so far, last first."""
        for segment in reversed(self._segments):
            for row in reversed(segment.inserted.get(model, ())):
                if isinstance(row, dict):
                    yield row
                elif not isinstance(row, EncodedRows):
                    yield dict(zip(column_names(model), row, strict=True))

    def days(self) -> set[int]:
        """Return the days (since the epoch) of the rows of partitionable tables."""
        return {
            day
            for segment in self._segments
            for model, rows in segment.inserted.items()
            if issubclass(model, PartitionableTable)
            for row in rows
            for day in (row.days if isinstance(row, EncodedRows) else (_time(model, row) // NANOS_PER_DAY,))
        }

    def counts(self) -> Counter[str]:
        """Count the rows that this batch inserts, by table."""
        counts = Counter[str]()
        for segment in self._segments:
            for model, rows in segment.inserted.items():
                counts[model._meta.db_table] += _count(rows)
        return counts

    def deferred_items(self) -> Iterator[Any]:
        for segment in self._segments:
            for items in segment.deferred.values():
                yield from items

    def __len__(self) -> int:
        return sum(map(len, self._segments))

    def write(self, cursor: CursorWrapper) -> None:
        """Write everything, within the caller's transaction.

        Barriers do not split the rows of most tables: the work there reads none of a later time.
        """
        unordered = {
            model: None for segment in self._segments for model in segment.inserted if not _is_ordered(model)
        }
        for model in unordered:
            _insert(cursor, model, list(chain.from_iterable(self.row_lists(model))))
        # Parameters do not change the plans of changes or snapshots. Django's connections prepare nothing.
        cursor.execute("set local plan_cache_mode = force_generic_plan")
        cursor.connection.prepare_threshold = 0
        for segment in self._segments:
            segment.write(cursor)


def _is_ordered(model: type[models.Model]) -> bool:
    """Return whether work at barriers reads the rows that the model's table has by then."""
    return getattr(model, "written_in_order", False)


def _insert(cursor: CursorWrapper, model: type[models.Model], rows: Sequence[AddedRow]) -> None:
    if not rows:
        return
    columns, table = table_columns(model), model._meta.db_table
    ingest.ROWS.labels(table).inc(copy_valid(cursor, table, columns, partial(row_values, columns, rows)))


def _count(rows: Iterable[AddedRow]) -> int:
    return sum(row.count if isinstance(row, EncodedRows) else 1 for row in rows)


def row_values(columns: Iterable[Column], rows: Iterable[AddedRow]) -> Iterator[Row]:
    """Yield the values of each row in the order of the columns; encoded rows as they are."""
    defaults = {column.name: column.default for column in columns}
    # Whole rows are the most frequent ones, and need no defaults.
    values_of, column_count = itemgetter(*defaults), len(defaults)
    for row in rows:
        if row.__class__ is not dict:
            yield row  # type: ignore[misc]
        elif len(row) == column_count:
            yield values_of(row)
        else:
            yield tuple((defaults | row).values())


def _time(model: type[models.Model], row: dict[str, Any] | Sequence[Any]) -> int:
    time: int = row[TIME] if isinstance(row, dict) else row[time_position(model)]
    return time


@cache
def time_position(model: type[models.Model]) -> int:
    return column_names(model).index(TIME)


def _stage(
    cursor: CursorWrapper, merge: Merge, changed: Collection[str], changes: Collection[Change]
) -> None:
    """Copy changes into the staging table: the columns that any of them has, as most have only a few."""
    if not changes:
        return
    columns = [column for column in merge.staged if column.name in changed]
    names = [column.name for column in columns]
    columns += merge.times
    copy_valid(cursor, merge.staging, columns, partial(_staged, names, changes))


def _staged(names: list[str], changes: Iterable[Change]) -> Iterator[list[Any]]:
    return ([*map(change.columns.get, names), change.since, change.until] for change in changes)


def _rule(model: type[models.Model]) -> MergeRule:
    rule = getattr(model, "merge", None)
    if not isinstance(rule, MergeRule):
        raise TypeError(f"{model.__name__} has no merge rule: its rows are inserted, not changed.")
    return rule


@cache
def _merge(model: type[models.Model]) -> Merge:
    return Merge(model, _rule(model))


def _resolve(cursor: CursorWrapper, merge: Merge, pending: Pending) -> None:
    pending.end_file()
    if pending.conditional:
        cursor.execute(
            merge.select_present, [list(column) for column in zip(*pending.conditional, strict=True)]
        )
        pending.resolve({tuple(row[:-1]): row[-1] for row in cursor.fetchall()})
        pending.end_file()
    pending.flush_sums()


def _write_changes(cursor: CursorWrapper, merge: Merge, pending: Pending) -> None:
    statements = _statements(merge, pending)
    cursor.execute(merge.create_staging)
    for _, changes in statements:
        _stage(cursor, merge, _changed(changes), changes)
    for statement, _ in statements:
        cursor.execute(merge.staged_changes + statement)


def _statements(merge: Merge, pending: Pending) -> list[tuple[str, Collection[Change]]]:
    """Return the statements that merge the changes into the table, in order, and the changes of each."""
    silent, versions = pending.silent.values(), pending.versions
    if not merge.rule.history:
        return [(merge.current_merge, [*silent, *versions])]
    statements: list[tuple[str, Collection[Change]]] = []
    if silent:
        statements.append((merge.silent_update(_changed(silent)), silent))
    if versions:
        statements.append((merge.version_merge, versions))
    return statements


def _changed(changes: Iterable[Change]) -> set[str]:
    return set().union(*(change.columns for change in changes))
