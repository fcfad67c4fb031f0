"""The announcement that a table will be divided: a check of the times that its first partition will hold.

Checking the rows reads the whole table, but blocks no one. Once it is done, attaching the table as a
partition takes moments. Until then a loader that comes to a later month withdraws the announcement.
"""

import re

from django.db.backends.utils import CursorWrapper

from mirror.core.db.partitions.catalogue import TIME, growing_tables
from mirror.core.values.timestamp import MAX, MIN

NAME = "times_of_partition"

_CHECKS = """
    select relname, pg_get_constraintdef(c.oid) from pg_constraint c
    join pg_class on pg_class.oid = conrelid
    where conname = %s and relname = any(%s) and relkind = 'r' and pg_table_is_visible(conrelid)"""
_BOUND = re.compile(r"(>=|<) '?(-?\d+)")


def announcements(cursor: CursorWrapper) -> dict[str, tuple[int, int]]:
    """Return the times, from the first to before the second, of each table that will be divided."""
    cursor.execute(_CHECKS, [NAME, list(growing_tables())])
    found = {}
    for table, check in cursor.fetchall():
        bounds = dict(_BOUND.findall(check))
        found[table] = int(bounds.get(">=", MIN)), int(bounds.get("<", MAX))
    return found


def announce(cursor: CursorWrapper, table: str, lower: int, upper: int) -> None:
    """Add the check; stored rows are not read."""
    conditions = [f"{TIME} is not null"]
    if lower > MIN:
        conditions.append(f"{TIME} >= {lower}")
    if upper < MAX:
        conditions.append(f"{TIME} < {upper}")
    cursor.execute(
        f"alter table {cursor.db.ops.quote_name(table)} add constraint {NAME} "
        f"check ({' and '.join(conditions)}) not valid"
    )


def withdraw(cursor: CursorWrapper, table: str) -> None:
    """Remove the check: rows of any time may be written again."""
    cursor.execute(f"alter table {cursor.db.ops.quote_name(table)} drop constraint if exists {NAME}")
