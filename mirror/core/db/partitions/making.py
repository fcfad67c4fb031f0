"""Months of partitioned tables: made before the first row of a month is written, and one month ahead.

A month is made as a table of its own and then attached. Unlike CREATE TABLE ... PARTITION OF, that makes no
reader of the other months wait.

A check constraint of the times of its first partition announces that a table will be partitioned. Validating
it reads the whole table, but blocks no one; attaching it as a partition takes moments then. Until then
a loader that comes to a later month withdraws the announcement.
"""

import re
import time
from collections.abc import Callable, Iterable
from itertools import chain, count

from django.db import transaction

from mirror.core.db.partitions.catalogue import (
    TIME,
    Partition,
    bound_sql,
    month_span,
    partition_name,
    partitionable_tables,
    partitioned_tables,
    partitions,
)
from mirror.core.db.statements import execute, quoted, rows, value
from mirror.core.values.timestamp import MAX, MIN, NANOS_PER_DAY

#: The lock of who adds or drops partitions; the procedures of the database take it too.
LOCK_KEY = "hashtextextended('create_time_partition_for_table', 0)"

#: The name of the check that announces the partitioning of a table.
ANNOUNCEMENT = "times_of_partition"

_CHECKS = """
    select relname, pg_get_constraintdef(c.oid) from pg_constraint c
    join pg_class on pg_class.oid = conrelid
    where conname = %s and relname = any(%s) and relkind = 'r' and pg_table_is_visible(conrelid)"""
_BOUND = re.compile(r"(>=|<) '?(-?\d+)")
_OPTIONS = "select array_to_string(reloptions, ', ') from pg_class where oid = to_regclass(%s)"


def create_partitions_ahead() -> None:
    """Create the missing partitions of this month and the next, and those of balances for a year.

    Call it at the start of loading. A balance snapshot of a month without a partition can't be stored. The
    database's own procedure does it for them, so that a database made by other software keeps its own plan.
    """
    with transaction.atomic():
        create_partitions_for(lambda: [time.time_ns() // NANOS_PER_DAY])
    execute("CALL create_mirror_node_time_partitions()")


def create_partitions_for(days: Callable[[], Iterable[int]]) -> None:
    """Make the months that rows of these days (since the epoch) lack in partitioned tables.

    It comes before anything else in a transaction: who drops months at the same time waits for those that use
    the tables. Where no table is partitioned, `days` is not called.
    """
    partitioned = partitioned_tables()
    announced = announcements() if len(partitioned) < len(partitionable_tables()) else {}
    if not partitioned and not announced:
        return
    months = {month_span(min(max(day * NANOS_PER_DAY, MIN), MAX)) for day in days()}
    for table, (lower, upper) in announced.items():
        if any(first < lower or end > upper for first, end in months):
            withdraw(table)
    if months:
        create_months(partitioned, months | {month_span(min(max(end for _, end in months), MAX))})


def create_months(tables: Iterable[str], months: Iterable[tuple[int, int]]) -> None:
    """Make those of the months that tables lack."""
    ordered = sorted(months)
    lacking = [table for table in tables if _first_missing(partitions(table), ordered)]
    if not lacking:
        return
    # Of two that would make the same month the later one finds it made.
    execute(f"select pg_advisory_xact_lock({LOCK_KEY})")
    for table in lacking:
        while missing := _first_missing(partitions(table), ordered):
            create_partition(table, *missing)


def _first_missing(present: list[Partition], months: list[tuple[int, int]]) -> tuple[int, int] | None:
    """Return the times of the first partition to make: a month, or as much of it as none covers yet."""
    for first, end in months:
        lower = first
        for partition in present:
            if partition.lower <= lower < partition.upper:
                lower = partition.upper
        if lower < end:
            return lower, min([end, *(each.lower for each in present if each.lower > lower)])
    return None


def create_partition(table: str, lower: int, upper: int, *, like: str | None = None) -> None:
    """Make a partition for these times, which none has, stored `like` another one, by default the last."""
    name = unused_name(partition_name(table, lower, upper))
    # A stronger lock than LIKE takes comes first, or two could wait for each other.
    execute(f"lock table only {quoted(table)} in share update exclusive mode")
    options = value(_OPTIONS, [quoted(like or partitions(table)[-1].name)])
    storage = f" with ({options})" if options else ""
    execute(f"create table {quoted(name)} (like {quoted(table)} including all){storage}")
    execute(
        f"alter table {quoted(table)} attach partition {quoted(name)} "
        f"for values from ({bound_sql(lower)}) to ({bound_sql(upper)})"
    )


def unused_name(name: str) -> str:
    """Return the name, or with a number behind it if another table has it."""
    candidates = chain([name], (f"{name}_{number}" for number in count(2)))
    unused = "select to_regclass(%s) is null"
    return next(each for each in candidates if value(unused, [quoted(each)]))


# ANNOUNCEMENTS


def announcements() -> dict[str, tuple[int, int]]:
    """Return the times, from the first to before the second, of each table that will be partitioned."""
    announced = {}
    for table, check in rows(_CHECKS, [ANNOUNCEMENT, list(partitionable_tables())]):
        bounds = dict(_BOUND.findall(check))
        announced[table] = int(bounds.get(">=", MIN)), int(bounds.get("<", MAX))
    return announced


def announce(table: str, lower: int, upper: int) -> None:
    """Add the check; stored rows are not read."""
    conditions = [f"{TIME} is not null"]
    if lower > MIN:
        conditions.append(f"{TIME} >= {lower}")
    if upper < MAX:
        conditions.append(f"{TIME} < {upper}")
    execute(
        f"alter table {quoted(table)} add constraint {ANNOUNCEMENT} "
        f"check ({' and '.join(conditions)}) not valid"
    )


def withdraw(table: str) -> None:
    """Remove the check: rows of any time may be written again."""
    execute(f"alter table {quoted(table)} drop constraint if exists {ANNOUNCEMENT}")
