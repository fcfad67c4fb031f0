"""The merge of changes to rows: in memory while a batch is read, then by one statement for each table.

A *version* is a change that starts at a consensus timestamp: it closes the version before it, which moves to
the history table. A *silent change* has no start: it alters the current version in place (balances, nonces,
allowances spent). Both may have any subset of the columns; the others stay as they are.

The result does not depend on the grouping of files into batches: silent changes that precede the first
version of a row in a batch are applied to the stored row before it is closed. If the row is not stored yet,
only those in the file of its first version count.
"""

import json
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from operator import itemgetter
from typing import Any

from django.db import models

from mirror.core.db.writing.copy import Column, table_columns


class Change:
    """The columns of a changed row, and from when it holds; `until` is set when the next version starts.

    `columns` includes those of earlier changes in the batch. For a version, `own_columns` names its own.
    """

    __slots__ = ("_own_columns", "_own", "columns", "since", "until")

    def __init__(
        self, columns: dict[str, Any], since: int | None = None, own: Iterable[str] | None = None
    ) -> None:
        self.columns = columns
        self._own = columns if own is None else own
        self._own_columns: set[str] | None = set() if since is None else None
        self.since = since
        self.until: int | None = None

    @property
    def own_columns(self) -> set[str]:
        """Read only where two changes have the same time, so it is computed then."""
        if self._own_columns is None:
            self._own_columns = {name for name in self._own if self.columns.get(name) is not None}
        return self._own_columns


@dataclass(frozen=True)
class MergeRule:
    """The merge rule of a table. Tables that differ override a method, or give SQL for columns.

    key: columns that identify the object.
    fixed: columns whose first value stays.
    added: columns whose changes are amounts that add up.
    replaced: columns that every version states anew: null if it does not have them. If `added` too, only
    silent changes add up.
    defaults: SQL for a column that neither the change nor the stored row has.
    expressions: SQL for a column of the stored result; `s` is the change, `e` the stored row (all null if
    new).
    required: a column without which nothing is stored: a change of an object never seen whole is dropped.
    present: a column that is true if the object exists; `create_if_absent` then does nothing.
    carried: columns whose silent changes count for the version that creates the object, if they precede it in
    its file; each with its name in `staged_only`.
    staged_only: columns of the staging table alone, with types, that
    `fold` or `carried` fill for `expressions`.
    history: whether there are versions; if not, every change is silent and creates what is not stored.
    is_associative: whether silent changes may be folded into each other before into those before them.
    running_sum: an amount that is `added`, and the column of its last change's time. Silent changes of the
    two are the most frequent ones, and are summed up by `add_amounts`; only for a key of one column, without
    `present`.
    """

    key: tuple[str, ...]
    fixed: frozenset[str] = frozenset()
    added: frozenset[str] = frozenset()
    replaced: frozenset[str] = frozenset()
    defaults: Mapping[str, str] = field(default_factory=dict)
    expressions: Mapping[str, str] = field(default_factory=dict)
    required: str = ""
    present: str = ""
    carried: Mapping[str, str] = field(default_factory=dict)
    staged_only: Mapping[str, str] = field(default_factory=dict)
    history: bool = True
    is_associative: bool = True
    running_sum: tuple[str, str] = ("", "")

    def fold(self, target: Change, change: Mapping[str, Any]) -> None:
        """Apply a silent change to the change before it."""
        columns = target.columns
        for name, value in change.items():
            if value is None:
                continue
            known = columns.get(name)
            if known is not None:
                if name in self.added:
                    columns[name] = known + value
                    continue
                if name in self.fixed:
                    continue
            columns[name] = value
            target.own_columns.add(name)

    def carry(self, columns: dict[str, Any], before: Mapping[str, Any]) -> None:
        """Note the silent changes before it in a version's columns."""
        columns |= {staged: before.get(name) for name, staged in self.carried.items()}

    def follow(self, previous: Change, columns: dict[str, Any], since: int) -> Change | None:
        """Return the version after `previous`; None when both start at once and became one."""
        if previous.since == since:
            for name, value in columns.items():
                if value is None:
                    continue
                if name in self.added and previous.columns.get(name) is not None:
                    previous.columns[name] += value
                elif name not in previous.own_columns:
                    previous.columns[name] = value
                    previous.own_columns.add(name)
            return None
        inherited = dict(previous.columns)
        for name in self.replaced:
            inherited.pop(name, None)
        for name, value in columns.items():
            if value is None or (name in self.fixed and inherited.get(name) is not None):
                continue
            if name in self.added and inherited.get(name) is not None:
                inherited[name] += value
            else:
                inherited[name] = value
        previous.until = since
        return Change(inherited, since, columns)


# An amount and the time of its last change.
RunningSum = list[int]


class RunningSums:
    """Silent changes of the columns `sums`, summed up until something else happens to the object."""

    __slots__ = ("_rule", "key", "sums")

    def __init__(self, rule: MergeRule) -> None:
        self._rule = rule
        # Returns the key in a change's columns: one value, or a tuple of several.
        self.key: Callable[[Mapping[str, Any]], Any] = itemgetter(*rule.key)
        self.sums: dict[Any, RunningSum] = {}

    def add(self, columns: dict[str, Any], since: int | None) -> None:
        raise NotImplementedError

    def add_amounts(self, amounts: Iterable[tuple[int, int]], at: int) -> None:
        """Add each amount to what the object of its key has; the key 0 is that of none."""
        sums = self.sums
        for key, amount in amounts:
            total = sums.get(key)
            if total is not None:
                total[0] += amount
                total[1] = at
            elif key:
                sums[key] = [amount, at]

    def _flush_sum(self, key: Any) -> None:
        """Make the sum of an object a change like any other."""
        if key in self.sums:
            self.add(self._sum_columns(key, self.sums.pop(key)), None)

    def _sum_columns(self, key: Any, total: RunningSum) -> dict[str, Any]:
        amount, time = self._rule.running_sum
        return {self._rule.key[0]: key, amount: total[0], time: total[1]}


class Pending(RunningSums):
    """The changes of one table in a batch, ordered by timestamp for each object.

    `earlier` has silent changes of the file being read from before a barrier.
    """

    __slots__ = (
        "_earlier",
        "_latest",
        "_earlier_sums",
        "_file_changes",
        "silent",
        "conditional",
        "versions",
    )

    def __init__(self, rule: MergeRule, earlier: dict[Any, Change] | None = None) -> None:
        super().__init__(rule)
        self._earlier = earlier or {}
        # The sums of earlier files.
        self._earlier_sums: dict[Any, RunningSum] = {}
        self._latest: dict[Any, Change] = {}
        self.silent: dict[Any, Change] = {}
        # Silent changes of the file being read, where the rule distinguishes them from earlier ones.
        self._file_changes: dict[Any, Change] = {} if rule.carried else self.silent
        self.versions: list[Change] = []
        # Changes of objects whose stored row decides whether the first of them takes effect.
        self.conditional: dict[Any, list[tuple[dict[str, Any], int | None, bool]]] = {}

    def columns_set_at(self, key: Any, at: int) -> Collection[str]:
        """Return the columns that versions from `at` on gave the object; none without such a version."""
        self._flush_sum(key)
        latest = self._latest.get(key)
        return latest.own_columns if latest and latest.since == at else ()

    def __len__(self) -> int:
        own = len(self._file_changes) if self._rule.carried else 0
        moved = len(self.sums) + len(self._earlier_sums)
        return len(self.silent) + own + len(self.versions) + moved

    def add_sums(self, moves: Mapping[int, RunningSum]) -> None:
        for key, (amount, at) in moves.items():
            self.add_amounts([(key, amount)], at)

    def _flush_sum(self, key: Any) -> None:
        earlier = self._earlier_sums.pop(key, None)
        if earlier is not None:
            self._add_earlier(key, self._sum_columns(key, earlier))
        super()._flush_sum(key)

    def flush_sums(self) -> None:
        """Make all sums changes like any other, after the last file."""
        for key in [*self._earlier_sums, *self.sums]:
            self._flush_sum(key)

    def add(self, columns: dict[str, Any], since: int | None) -> None:
        key = self.key(columns)
        if key in self.sums or key in self._earlier_sums:
            self._flush_sum(key)
        if self.conditional and key in self.conditional:
            self.conditional[key].append((columns, since, False))
            return
        previous = self._latest.get(key)
        if since is None:
            target = previous or self._file_changes.get(key)
            if target is None:
                self._file_changes[key] = Change(columns)
            else:
                self._rule.fold(target, columns)
            return
        if previous is None:
            before = self.file_change(key) if self._rule.carried else None
            if before:
                self._rule.carry(columns, before.columns)
            change: Change | None = Change(columns, since)
        else:
            change = self._rule.follow(previous, columns, since)
        if change is not None:
            self._latest[key] = change
            self.versions.append(change)

    def file_change(self, key: Any) -> Change | None:
        """Return the silent changes of an object in the file being read, before its first version."""
        earlier, later = self._earlier.get(key), self._file_changes.get(key)
        if earlier is None or later is None:
            return earlier or later
        both = Change(dict(earlier.columns))
        self._rule.fold(both, later.columns)
        return both

    def file_changes(self) -> dict[Any, Change]:
        """Return a copy of `file_change` for all objects; empty where the rule carries nothing."""
        if not self._rule.carried:
            return {}
        for key in list(self.sums):
            self._flush_sum(key)
        changes = {key: self.file_change(key) for key in self._earlier.keys() | self._file_changes.keys()}
        return {key: Change(dict(change.columns)) for key, change in changes.items() if change}

    def end_file(self) -> None:
        """Mark the end of a file: the changes so far are of earlier files."""
        self._earlier = {}
        if self._rule.carried:
            for key, change in self._file_changes.items():
                before = self.silent.get(key)
                if before is None:
                    self.silent[key] = change
                else:
                    self._rule.fold(before, change.columns)
            self._file_changes = {}
        for key, total in self.sums.items():
            earlier = self._earlier_sums.setdefault(key, total)
            if earlier is not total:
                earlier[0] += total[0]
                earlier[1] = total[1]
        self.sums = {}

    def _add_earlier(self, key: Any, columns: dict[str, Any]) -> None:
        """Add a silent change of earlier files."""
        before = self._latest.get(key) or self.silent.get(key)
        if before is None:
            self.silent[key] = Change(columns)
        else:
            self._rule.fold(before, columns)

    def create_if_absent(self, columns: dict[str, Any], since: int) -> None:
        """Add a version unless the object exists, which may only be known from the stored row."""
        key = self.key(columns)
        previous = self._latest.get(key)
        present = previous.columns.get(self._rule.present) if previous else None
        if key in self.conditional or present is None:
            self.conditional.setdefault(key, []).append((columns, since, True))
        elif not present:
            self.add(columns, since)

    def resolve(self, stored: Mapping[Any, bool | None]) -> None:
        """Add the conditional changes; `stored` maps each stored object to whether it exists."""
        conditional, self.conditional = self.conditional, {}
        for key, changes in conditional.items():
            for columns, since, establishes in changes:
                if not (establishes and self._present(key, stored)):
                    self.add(columns, since)

    def _present(self, key: Any, stored: Mapping[Any, bool | None]) -> bool:
        changes = [self._latest.get(key)]
        if key in stored:
            changes += [self._file_changes.get(key), self.silent.get(key)]
        for change in changes:
            present = change.columns.get(self._rule.present) if change else None
            if present is not None:
                return bool(present)
        return bool(stored.get(key))


class Merge:
    """The SQL of a model's rule: staging table, silent changes, versions."""

    def __init__(self, model: type[models.Model], rule: MergeRule) -> None:
        self.rule = rule
        self.table = model._meta.db_table
        self.staging = f"{self.table}_staging"
        self.stored = [c for c in table_columns(model) if c.name != "timestamp_range"]
        self.staged = [Column(c.name, c.type, None, c.length) for c in self.stored]
        self.staged += [Column(name, kind, None) for name, kind in rule.staged_only.items()]
        self.times = [Column("since", "int8", None), Column("until", "int8", None)]

    @cached_property
    def create_staging(self) -> str:
        """Creates an empty staging table that only this session sees."""
        columns = ", ".join(_quoted(c.name) for c in self.stored)
        extra = "".join(f", null::{kind} as {_quoted(name)}" for name, kind in self.rule.staged_only.items())
        return (
            f"create temporary table if not exists {self.staging} as "
            f"select {columns}{extra}, 0::bigint as since, 0::bigint as until "
            f"from {self.table} with no data; "
            f"truncate {self.staging}"
        )

    @cached_property
    def staged_changes(self) -> str:
        """Precedes a statement whose changes are staged."""
        return f"with changes as not materialized (select * from {self.staging}) "

    @cached_property
    def inline_changes(self) -> str:
        """Precedes a statement whose changes are in its values, those of `inline_values`."""
        extra = [*self.times, *(Column(name, kind, None) for name, kind in self.rule.staged_only.items())]
        types = ", ".join(f"{_quoted(column.name)} {column.type}" for column in extra)
        return (
            "with changes as materialized (select * from rows from ("
            f"json_populate_recordset(null::{self.table}, %s), json_to_recordset(%s) as ({types}))) "
        )

    def inline_values(self, changes: Iterable[Change]) -> list[str]:
        """Return the changes as the values of a statement after `inline_changes`."""
        rows = [{**change.columns, "since": change.since, "until": change.until} for change in changes]
        return [json.dumps(rows, default=_hex)] * 2

    def silent_update(self, names: Iterable[str]) -> str:
        """Return SQL that applies silent changes of the columns `names` to stored rows."""
        updates = [
            f"{_quoted(c.name)} = {self._result(c)}"
            for c in self.stored
            if c.name in names and c.name not in self.rule.key
        ]
        return (
            f"update {self.table} e set {', '.join(updates)} from changes s "
            f"where s.since is null and {self._same_key('e', 's')}"
        )

    @cached_property
    def select_present(self) -> str:
        """Selects the stored objects among those in parallel arrays of keys, and whether each exists."""
        names = ", ".join(_quoted(name) for name in self.rule.key)
        arrays = ", ".join("%s::bigint[]" for _ in self.rule.key)
        return (
            f"select {names}, {_quoted(self.rule.present)} from {self.table} "
            f"join unnest({arrays}) as sought ({names}) using ({names})"
        )

    @cached_property
    def current_merge(self) -> str:
        """Stores the changes of a table without history: new objects whole, the changed columns of others."""
        names = [c.name for c in self.stored]
        listed = ", ".join(_quoted(name) for name in names)
        results = ", ".join(self._result(c) for c in self.stored)
        return f"""
            insert into {self.table} ({listed})
            select {results}
            from changes s left join {self.table} e on {self._same_key("e", "s")}
            where true{self._required_condition}
            on conflict ({self._key}) do update set {self._updates(names)}"""

    @cached_property
    def version_merge(self) -> str:
        """Closes and archives the stored versions, archives the closed new ones, stores the open ones."""
        names = [c.name for c in self.stored]
        listed = ", ".join(_quoted(name) for name in names)
        results = ", ".join(f"{self._result(c)} as {_quoted(c.name)}" for c in self.stored)
        keys, updates = self._key, self._updates([*names, "timestamp_range"])
        stored = ", ".join(f"e.{_quoted(name)}" for name in names)
        return f"""
            , merged as materialized (
                select {results}, s.since, s.until
                from changes s left join {self.table} e on {self._same_key("e", "s")}
                where s.since is not null{self._required_condition}
            ), first as (
                select {keys}, min(since) as since from changes where since is not null group by {keys}
            ), closed_stored as (
                insert into {self.table}_history ({listed}, timestamp_range)
                select {stored}, int8range(lower(e.timestamp_range), f.since)
                from {self.table} e join first f on {self._same_key("e", "f")}
            ), closed_new as (
                insert into {self.table}_history ({listed}, timestamp_range)
                select {listed}, int8range(since, until) from merged where until is not null
            )
            insert into {self.table} ({listed}, timestamp_range)
            select {listed}, int8range(since, null) from merged where until is null
            on conflict ({keys}) do update set {updates}"""

    @property
    def _key(self) -> str:
        return ", ".join(_quoted(name) for name in self.rule.key)

    @property
    def _required_condition(self) -> str:
        column = _quoted(self.rule.required)
        return f" and coalesce(s.{column}, e.{column}) is not null" if self.rule.required else ""

    def _updates(self, names: Iterable[str]) -> str:
        return ", ".join(f"{_quoted(n)} = excluded.{_quoted(n)}" for n in names if n not in self.rule.key)

    def _result(self, column: Column) -> str:
        name, rule = _quoted(column.name), self.rule
        if column.name in rule.key:
            return f"s.{name}"
        if column.name in rule.expressions:
            return rule.expressions[column.name]
        if column.name in rule.replaced:
            added = saturating_sum(f"coalesce(e.{name}, 0)", f"coalesce(s.{name}, 0)")
            silent = added if column.name in rule.added else f"coalesce(s.{name}, e.{name})"
            return f"case when s.since is null then {silent} else s.{name} end"
        order = [f"e.{name}", f"s.{name}"] if column.name in rule.fixed else [f"s.{name}", f"e.{name}"]
        if column.name in rule.defaults:
            order.append(rule.defaults[column.name])
        return f"coalesce({', '.join(order)})"

    def _same_key(self, left: str, right: str) -> str:
        return " and ".join(f"{left}.{_quoted(n)} = {right}.{_quoted(n)}" for n in self.rule.key)


def _hex(value: bytes) -> str:
    return f"\\x{value.hex()}"


def saturating_sum(left: str, right: str) -> str:
    """Return SQL for the sum of two amounts, which stays within 64 bits."""
    return f"least(greatest({left}::numeric + {right}, {-(1 << 63)}), {(1 << 63) - 1})::bigint"


def _quoted(name: str) -> str:
    """Quote a column name of a model, as `index` and `type` are words of SQL."""
    return f'"{name}"'
