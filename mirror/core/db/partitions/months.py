"""The months that statements name in their text, where tables are partitioned by month.

PostgreSQL plans a statement once, without its values. Without bounds in its text it would plan and open every
month. So conditions on the time are accompanied by the months that they imply.
"""

import time
from threading import Lock
from typing import NamedTuple

import psycopg
from django.db import OperationalError, connection

from mirror.core.db import statements
from mirror.core.db.distribution import choose
from mirror.core.db.partitions.catalogue import PARTITIONS, TIME, partitionable_tables

# How long a process relies on what it has seen. Months dropped and tables partitioned since then do no harm.
_SECONDS = 300.0
# How long it relies on that no later month has begun: a list that has no end may lack so much of it.
_SECONDS_WITHOUT_LATER = 0.1

# How many partitions of a table are not among the known ones, and the bytes of some. Whether known ones are
# gone does not matter: who looked for months while some are dropped would wait for the locks of that.
_LATER = """
    select (select count(*) from pg_inherits where inhparent = %s and inhrelid::bigint <> all(%s::bigint[])),
        (select coalesce(sum(pg_relation_size(number::oid)), 0) from unnest(%s::bigint[]) number)"""


class Month(NamedTuple):
    """A partition with rows: its times, from `lower` to before `upper` (ns)."""

    lower: int
    upper: int


class _PartitionState(NamedTuple):
    """The months with rows, and oids: of a table, its partitions, and the later partitions without rows."""

    database: str
    until: float
    months: tuple[Month, ...]
    table: int = 0
    partitions: tuple[int, ...] = ()
    later: tuple[int, ...] = ()


_EMPTY = _PartitionState("", 0.0, ())
_no_later_until = 0.0
_state = _EMPTY
_lock = Lock()


def forget() -> None:
    """Look again when the months are needed next."""
    global _state, _no_later_until
    _state, _no_later_until = _EMPTY, 0.0


def months() -> tuple[Month, ...]:
    """Return the months with rows, the oldest first; none if no table is partitioned.

    Files are loaded in the order of time. So rows may have been added since to the last one and later ones.
    """
    seen = _state
    if seen.until > time.monotonic() and seen.database == connection.settings_dict["NAME"]:
        return seen.months
    return _read()


def all_months() -> tuple[Month, ...]:
    """Return the same, also with months that have begun since."""
    global _no_later_until
    known = months()
    now = time.monotonic()
    if not known or now < _no_later_until:
        return known
    seen = _state
    values = seen.table, list(seen.partitions), list(seen.later)
    if statements.shared_rows(_LATER, values) != [(0, 0)]:
        known = _read()
    _no_later_until = now + _SECONDS_WITHOUT_LATER
    return known


def implied_conditions(column: str, lower: int | None, upper: int | None) -> tuple[str, ...]:
    """Return the months of a range of times, with inclusive ends, as conditions of a column."""
    known = months()
    if not known:
        return ()
    conditions = []
    if lower is not None and lower >= known[0].lower:
        conditions.append(f"{column} >= {max(month.lower for month in known if month.lower <= lower)}")
    if upper is not None and 0 <= upper < known[-1].upper:
        conditions.append(f"{column} < {min(month.upper for month in known if upper < month.upper)}")
    return tuple(conditions)


def is_time(column: str) -> bool:
    """Return whether tables are partitioned by a column, which may have the name of a table before it."""
    return column.endswith(TIME) and (len(column) == len(TIME) or column[-len(TIME) - 1] == ".")


def _read() -> tuple[Month, ...]:
    global _state
    with _lock:
        try:
            rows = statements.shared_rows(PARTITIONS, (list(partitionable_tables()),))
        except (psycopg.OperationalError, OperationalError):
            # The statement of the request fails as well, and is retried on a new connection.
            return ()
        found = [_Row(*row) for row in rows]
        # The coordinator can't tell which of them have rows on other machines.
        _state = _read_state([row._replace(has_rows=choose(row.has_rows, distributed=True)) for row in found])
        return _state.months


class _Row(NamedTuple):
    name: str
    lower: int
    upper: int
    table: str
    has_rows: bool
    partition: int
    parent: int


def _read_state(rows: list[_Row]) -> _PartitionState:
    """Return the partitions of the first partitioned table in whose times any partitioned table has rows."""
    database, until = str(connection.settings_dict["NAME"]), time.monotonic() + _SECONDS
    partitioned = {row.table for row in rows}
    first = next((table for table in partitionable_tables() if table in partitioned), None)
    filled = {Month(row.lower, row.upper) for row in rows if row.has_rows}
    known = tuple(
        Month(row.lower, row.upper)
        for row in rows
        if row.table == first and any(row.lower < other.upper and other.lower < row.upper for other in filled)
    )
    first_rows = [row for row in rows if row.table == first]
    known = (*_months_before(rows, min((row.lower for row in first_rows), default=0)), *known)
    if not known:
        return _PartitionState(database, until, ())
    later = tuple(row.partition for row in rows if row.lower >= known[-1].upper)
    partitions = tuple(row.partition for row in first_rows)
    return _PartitionState(database, until, known, first_rows[0].parent, partitions, later)


def _months_before(rows: list[_Row], start: int) -> list[Month]:
    """Return the months with rows before a time, from which the first table no longer has any.

    The partition of another table may have begun earlier and go on after that time.
    """
    merged: list[Month] = []
    before = ((row.lower, min(row.upper, start)) for row in rows if row.has_rows and row.lower < start)
    for lower, upper in sorted(before):
        if merged and lower < merged[-1].upper:
            merged[-1] = Month(merged[-1].lower, max(upper, merged[-1].upper))
        else:
            merged.append(Month(lower, upper))
    return merged
