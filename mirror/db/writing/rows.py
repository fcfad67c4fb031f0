"""The rows of one batch of stream files: collected in memory, written in one database transaction.

Handlers say what happened with `insert` and `upsert`; nothing reaches the database before `write`, which
needs one COPY per table and, for versioned tables, one COPY into a staging table and at most two statements.
No statement is run per row.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from functools import cache, partial
from typing import Any

from django.db import models
from django.db.backends.utils import CursorWrapper

from mirror.db.writing.copy import Column, columns_of
from mirror.db.writing.fitting import copy_fitting
from mirror.db.writing.merge import Change, Merge, MergeRule, Pending

Work = Callable[[CursorWrapper, list[Any]], None]


class _Segment:
    """Rows between two barriers."""

    def __init__(self) -> None:
        self.inserted: dict[type[models.Model], list[dict[str, Any]]] = {}
        self.pending: dict[type[models.Model], Pending] = {}
        self.afterwards: dict[Work, list[Any]] = {}
        self.barrier: Callable[[CursorWrapper], None] | None = None

    def __len__(self) -> int:
        return sum(map(len, self.inserted.values())) + sum(map(len, self.pending.values()))

    def write(self, cursor: CursorWrapper) -> None:
        for model, pending in self.pending.items():
            _write_changes(cursor, model, pending)
        for model, rows in self.inserted.items():
            columns = columns_of(model)
            copy_fitting(cursor, model._meta.db_table, columns, partial(_values, columns, rows))
        for work, noted in self.afterwards.items():
            work(cursor, noted)
        if self.barrier:
            self.barrier(cursor)


class Rows:
    """What a batch adds to the tables: models with a `merge` rule take `upsert`, the others `insert`."""

    def __init__(self) -> None:
        self._segments: list[_Segment] = []
        # Silent changes of the file being read from before the last barrier.
        self._of_file: dict[type[models.Model], dict[Any, Change]] = {}
        self._start_segment()

    def _start_segment(self) -> None:
        segment = _Segment()
        self._segments.append(segment)
        self._inserted, self._pending = segment.inserted, segment.pending

    def insert(self, model: type[models.Model], **columns: Any) -> dict[str, Any]:
        """Add a row; columns not given take their default. The dict returned may be completed later."""
        try:
            self._inserted[model].append(columns)
        except KeyError:
            self._inserted[model] = [columns]
        return columns

    def upsert(self, model: type[models.Model], since: int | None = None, **columns: Any) -> None:
        """Change an object: with `since` (consensus timestamp, ns) as a new version, without it silently."""
        try:
            pending = self._pending[model]
        except KeyError:
            pending = self._pending[model] = Pending(_rule(model), self._of_file.get(model))
        pending.add(columns, since)

    def establish(self, model: type[models.Model], since: int, **columns: Any) -> None:
        """Start a version of an object that is not there; nothing when it is (the rule's `present`)."""
        self._pending.setdefault(model, Pending(_rule(model))).establish(columns, since)

    def afterwards(self, work: Work, noted: Any) -> None:
        """Do `work` once, with all that was noted for it, when everything up to the next barrier is written.

        For changes of rows no one has listed that nothing read later in the stream may touch again.
        """
        self._segments[-1].afterwards.setdefault(work, []).append(noted)

    def barrier(self, work: Callable[[CursorWrapper], None]) -> None:
        """Do `work` in the database when everything so far is written and nothing after it is.

        For the rare transaction that changes rows no one has listed, such as all serials of a treasury.
        """
        self._segments[-1].barrier = work
        self._of_file |= {model: pending.all_of_file() for model, pending in self._pending.items()}
        self._start_segment()

    def end_file(self) -> None:
        """What was added so far is of files before what is added next."""
        self._of_file = {}
        for pending in self._pending.values():
            pending.end_file()

    def latest(self, model: type[models.Model], key: Any) -> Change | None:
        """The last change to the object `key` since the last barrier; None when there was none."""
        pending = self._pending.get(model)
        return pending.latest(key) if pending else None

    def inserted(self, model: type[models.Model]) -> Iterator[dict[str, Any]]:
        """The rows this batch inserts into the model's table so far, the last one first."""
        for segment in reversed(self._segments):
            yield from reversed(segment.inserted.get(model, ()))

    def counts(self) -> Counter[str]:
        """How many rows this batch inserts, by table."""
        found = Counter[str]()
        for segment in self._segments:
            for model, rows in segment.inserted.items():
                found[model._meta.db_table] += len(rows)
        return found

    def noted(self) -> Iterator[Any]:
        """Everything that is noted for work done `afterwards`."""
        for segment in self._segments:
            for noted in segment.afterwards.values():
                yield from noted

    def __len__(self) -> int:
        return sum(map(len, self._segments))

    def write(self, cursor: CursorWrapper) -> None:
        """Write everything; the caller's transaction makes it all or nothing."""
        for segment in self._segments:
            segment.write(cursor)


def _values(columns: Iterable[Column], rows: Iterable[dict[str, Any]]) -> Iterator[list[Any]]:
    wanted = [(c.name, c.default) for c in columns]
    return ([row.get(name, default) for name, default in wanted] for row in rows)


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


def _write_changes(cursor: CursorWrapper, model: type[models.Model], pending: Pending) -> None:
    merge = _merge(model)
    pending.end_file()
    if pending.undecided:
        cursor.execute(merge.find_present, [list(column) for column in zip(*pending.undecided, strict=True)])
        pending.decide({tuple(row[:-1]): row[-1] for row in cursor.fetchall()})
        pending.end_file()
    cursor.execute(merge.create_staging)
    names = [c.name for c in merge.staged if c.name not in ("since", "until")]
    changes = [*pending.silent.values(), *pending.versions]
    copy_fitting(cursor, merge.staging, merge.staged, partial(_staged, names, changes))
    if not merge.rule.history:
        cursor.execute(merge.current_merge)
        return
    if pending.silent:
        given = {name for change in pending.silent.values() for name in change.columns}
        cursor.execute(merge.silent_update(given))
    if pending.versions:
        cursor.execute(merge.version_merge)
