"""Rows and changes of one file, recorded in one process to be added to a batch in another.

Rows are encoded for COPY at once, changes are recorded in order: their effect depends on the files before.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from functools import cache
from operator import itemgetter
from typing import Any

from django.db import models

from mirror.core.db.schema.tables import PartitionableTable
from mirror.core.db.writing.copy import EncodedRows, table_columns
from mirror.core.db.writing.merge import Change, MergeRule, RunningSums
from mirror.core.db.writing.rejected_rows import Encoder
from mirror.core.db.writing.rows import FilePart, Recorded, Rows, row_values, time_position
from mirror.core.values.timestamp import NANOS_PER_DAY


class Changes(RunningSums):
    """The changes of one table, in the place of `Pending`: silent ones of an object are folded into one."""

    def __init__(self, rule: MergeRule) -> None:
        super().__init__(rule)
        # The silent changes of each object since its last version.
        self._silent: dict[Any, Change] = {}
        # Since when each object's last version holds, and the columns it was given.
        self._versions: dict[Any, tuple[int, set[str]]] = {}
        self.recorded: list[Recorded] = []

    def __len__(self) -> int:
        return len(self.recorded)

    def add(self, columns: dict[str, Any], since: int | None) -> None:
        if since is not None:
            self._add_version(columns, since)
            return
        key = self.key(columns)
        if key in self.sums:
            self._flush_sum(key)
        silent = self._silent.get(key)
        if silent is None:
            if self._rule.is_associative:
                self._silent[key] = Change(columns)
            self.recorded.append((None, columns, False))
        else:
            self._rule.fold(silent, columns)

    def create_if_absent(self, columns: dict[str, Any], since: int) -> None:
        self._add_version(columns, since, establishes=True)

    def _add_version(self, columns: dict[str, Any], since: int, *, establishes: bool = False) -> None:
        key = self.key(columns)
        if key in self.sums:
            self._flush_sum(key)
        self._silent.pop(key, None)
        names = {name for name, value in columns.items() if value is not None}
        at, before = self._versions.get(key, (since, set()))
        self._versions[key] = since, (names | before if at == since else names)
        self.recorded.append((since, columns, establishes))

    def columns_set_at(self, key: Any, at: int) -> Collection[str]:
        """Return the columns that versions from `at` on gave the object; none without such a version."""
        since, names = self._versions.get(key, (at, set()))
        return names if since == at else ()

    def file_changes(self) -> dict[Any, Change]:
        return {}

    def end_file(self) -> None:
        pass


class RecordedRows(Rows):
    """The rows of one file, for `parts` to hand over once all is complete."""

    def _new_changes(self, rule: MergeRule, earlier: dict[Any, Change] | None) -> Any:
        return Changes(rule)

    def parts(self) -> list[FilePart]:
        """Return what was added. The rows must not be completed later."""
        return [
            FilePart(
                {model: _encoded(model, rows) for model, rows in segment.inserted.items() if rows},
                {model: _recorded(changes) for model, changes in segment.pending.items() if len(changes)},
                {model: changes.sums for model, changes in segment.pending.items() if changes.sums},
                segment.deferred,
                segment.barrier,
            )
            for segment in self._segments
        ]


def _recorded(changes: Any) -> list[Recorded]:
    recorded: list[Recorded] = changes.recorded
    return recorded


def _encoded(model: type[models.Model], rows: Iterable[Any]) -> EncodedRows:
    values: list[Any] = list(row_values(table_columns(model), rows))
    encoded = _encoder(model).encode(values)
    if issubclass(model, PartitionableTable):
        return replace(encoded, days=_days(list(map(itemgetter(time_position(model)), values))))
    return encoded


def _days(times: list[int]) -> frozenset[int]:
    """Return the days of these times (ns); mostly it is one."""
    first, last = min(times) // NANOS_PER_DAY, max(times) // NANOS_PER_DAY
    return frozenset({first} if first == last else {time // NANOS_PER_DAY for time in times})


@cache
def _encoder(model: type[models.Model]) -> Encoder:
    return Encoder(table_columns(model))
