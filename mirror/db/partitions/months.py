"""The months that statements name in their text, where tables are divided by month.

PostgreSQL plans a statement once, without its values. Without bounds in its text it would plan and open every
month. So conditions on the time are accompanied by the months that they imply.
"""

import time
from threading import Lock
from typing import NamedTuple

import psycopg
from django.db import connection

from mirror.db.partitions.catalogue import PARTITIONS_OF_ALL, TIME, growing_tables

# How long a process relies on what it has seen. Months dropped and tables divided since then do no harm.
_SECONDS = 300.0


class Month(NamedTuple):
    """A partition with rows: its times, from `lower` to before `upper` (ns)."""

    lower: int
    upper: int


class _Seen(NamedTuple):
    database: str
    until: float
    months: tuple[Month, ...]


_NOTHING = _Seen("", 0.0, ())
_seen = _NOTHING
_lock = Lock()


def forget() -> None:
    """Look again when the months are needed next."""
    global _seen
    _seen = _NOTHING


def months() -> tuple[Month, ...]:
    """Return the months with rows, the oldest first; none if no table is divided.

    Files are loaded in the order of time. So rows may have been added since to the last one and later ones.
    """
    seen = _seen
    if seen.until > time.monotonic() and seen.database == connection.settings_dict["NAME"]:
        return seen.months
    return _look()


def implied(column: str, lower: int | None, upper: int | None) -> tuple[str, ...]:
    """Return the months of a range of times, with inclusive ends, as conditions of a column."""
    known = months()
    if not known:
        return ()
    conditions = []
    if lower is not None and lower >= known[0].lower:
        conditions.append(f"{column} >= {max(month.lower for month in known if month.lower <= lower)}")
    if upper is not None and upper < known[-1].lower:
        conditions.append(f"{column} < {min(month.upper for month in known if upper < month.upper)}")
    return tuple(conditions)


def is_time(column: str) -> bool:
    """Return whether a column, with or without the name of a table, is one by which tables are divided."""
    return column.endswith(TIME) and (len(column) == len(TIME) or column[-len(TIME) - 1] == ".")


def _look() -> tuple[Month, ...]:
    global _seen
    with _lock:
        connection.ensure_connection()
        session: psycopg.Connection[tuple[str, int, int, bool]] = connection.connection
        try:
            rows = session.execute(PARTITIONS_OF_ALL, (list(growing_tables()),)).fetchall()
        except psycopg.OperationalError:
            # The statement of the request meets the same, and tries again on a new connection.
            return ()
        found = _filled(rows)
        _seen = _Seen(str(connection.settings_dict["NAME"]), time.monotonic() + _SECONDS, found)
        return found


def _filled(rows: list[tuple[str, int, int, bool]]) -> tuple[Month, ...]:
    """Return the partitions of the first divided table in whose times any divided table has rows."""
    of_tables: dict[str, list[Month]] = {}
    filled = set[Month]()
    for table, lower, upper, has_rows in rows:
        month = Month(lower, upper)
        of_tables.setdefault(table, []).append(month)
        if has_rows:
            filled.add(month)
    if not of_tables:
        return ()
    first = next(of_tables[table] for table in growing_tables() if table in of_tables)
    return tuple(
        month
        for month in first
        if any(month.lower < other.upper and other.lower < month.upper for other in filled)
    )
