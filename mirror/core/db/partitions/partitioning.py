"""The partitioning of a table by month, while it is read and written.

The table as it is becomes the first partition of a new table of its name: of the month at hand if it is
empty, else of all months from its first row to the next month. No row is moved. The steps are

1. a check of the times in the table is added, which locks the table briefly;
2. the stored rows are validated, which reads the table once and blocks nothing;
3. where a unique index does not contain the time, one with it is built concurrently, in the same way;
4. the table is renamed and attached, which takes the table for some milliseconds.

What is done can be seen in the catalogue, so another process goes on wherever one was killed.
"""

import re
import time
from collections.abc import Callable
from typing import NamedTuple

from django.db import connection

from mirror.core.config.setting import OperatorError
from mirror.core.db.partitions.catalogue import (
    TIME,
    bound_sql,
    month_span,
    partition_name,
    partitioned_tables,
    partitions,
)
from mirror.core.db.partitions.making import (
    ANNOUNCEMENT,
    announce,
    announcements,
    create_months,
    unused_name,
    withdraw,
)
from mirror.core.db.schema.locking import change_table
from mirror.core.db.statements import column, execute, quoted, row, rows, value
from mirror.core.values.timestamp import MAX

_ENDS = "select min({time}), max({time}) from {table}"
_VALIDATED = "select convalidated from pg_constraint where conrelid = to_regclass(%s) and conname = %s"
# Constraints with an index before other indexes.
_INDEXES = """
    select c.relname, i.indisvalid, i.indisunique, array(
            select attname
            from unnest(i.indkey[:i.indnkeyatts - 1]) with ordinality as key (number, position)
            join pg_attribute a on a.attrelid = i.indrelid and a.attnum = number order by position)::text[],
        pg_get_indexdef(i.indexrelid), k.conname, pg_get_constraintdef(k.oid)
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    left join pg_constraint k on k.conindid = i.indexrelid and k.conrelid = i.indrelid
    where i.indrelid = to_regclass(%s) order by k.conname is null, i.indexrelid"""
_VIEWS = """
    select distinct view.relname from pg_depend d
    join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
    join pg_class view on view.oid = r.ev_class
    where d.refclassid = 'pg_class'::regclass and d.refobjid = to_regclass(%s)"""
# Who may do what, apart from the owner.
_GRANTS = """
    select g.privilege_type, case when g.grantee = 0 then 'public' else quote_ident(r.rolname) end,
        g.is_grantable
    from pg_class c cross join lateral aclexplode(c.relacl) g left join pg_roles r on r.oid = g.grantee
    where c.oid = to_regclass(%s) and g.grantee <> c.relowner"""
_OWNER = """
    select quote_ident(pg_get_userbyid(relowner)), relowner = current_user::regrole
    from pg_class where oid = to_regclass(%s)"""


class _Index(NamedTuple):
    """An index, and its constraint if it has one; `columns` are those of its key that are no expressions."""

    name: str
    valid: bool
    unique: bool
    columns: list[str]
    definition: str
    constraint: str | None
    constraint_definition: str | None


def _lacks_time(index: _Index) -> bool:
    """Return whether partitions can't have an index: they are unique only with the time."""
    return index.unique and TIME not in index.columns


def _time_index_name(index: _Index) -> str:
    """Return the name of the index that replaces it."""
    return f"{index.name}_time"


def partition_table(table: str, *, run_step: Callable[[Callable[[], None]], bool] | None = None) -> bool:
    """Partition a table, unless it is partitioned; outside of transactions.

    `run_step` runs the long steps; where it interrupts one, both return False.
    Errors: OperatorError.
    """
    run_step = run_step or _run_to_end
    if partitioned_tables([table]):
        return True
    # They would go on reading what is then only its first partition.
    if views := column(_VIEWS, [quoted(table)]):
        raise OperatorError(
            f"The table {table} can't be partitioned by month while views read it ({', '.join(views)}): they "
            "would miss the rows of new months. Drop them, and make them again afterwards."
        )
    if table not in announcements():
        change_table(connection, table, lambda: _announce(table))
    if not run_step(lambda: _complete_indexes(table)) or not run_step(lambda: _validate(table)):
        return False
    change_table(connection, table, lambda: _replace_table(table))
    return True


def _run_to_end(work: Callable[[], None]) -> bool:
    work()
    return True


# 1. THE CHECK


def _announce(table: str) -> None:
    # No rows are written between reading the last row and the check.
    execute(f"lock table {quoted(table)} in access exclusive mode")
    if table not in announcements():
        announce(table, *_times(table))


def _times(table: str) -> tuple[int, int]:
    """Return the times of the first partition: of this month, or from the first row to the next month."""
    now = time.time_ns()
    first, last = row(_ENDS.format(time=TIME, table=quoted(table)))
    if first is None:
        return month_span(now)
    _, end = month_span(max(last, now))
    return month_span(first)[0], month_span(end)[1]


# 2. ITS ROWS


def _validate(table: str) -> None:
    if value(_VALIDATED, [quoted(table), ANNOUNCEMENT]) is False:
        execute(f"alter table {quoted(table)} validate constraint {ANNOUNCEMENT}")


# 3. UNIQUE INDEXES


def _complete_indexes(table: str) -> None:
    """Build an index with the time for each unique one without it."""
    indexes = _indexes(table)
    for index in filter(_lacks_time, indexes):
        with_time = quoted(_time_index_name(index))
        existing = next((each for each in indexes if each.name == _time_index_name(index)), None)
        if existing and existing.valid:
            continue
        if existing:
            # The remains of an attempt that was interrupted.
            execute(f"drop index concurrently {with_time}")
        columns = ", ".join(map(quoted, [*index.columns, TIME]))
        execute(f"create unique index concurrently {with_time} on {quoted(table)} ({columns})")


# 4. THE NEW TABLE


def _replace_table(table: str) -> None:
    execute(f"lock table {quoted(table)} in access exclusive mode")
    lower, upper = announcements()[table]
    first = unused_name(partition_name(table, lower, upper))
    indexes = _indexes(table)
    replaced = {_time_index_name(index): index.name for index in indexes if _lacks_time(index)}
    execute(f"alter table {quoted(table)} rename to {quoted(first)}")
    _rename_indexes(first, indexes)
    execute(
        f"create table {quoted(table)} (like {quoted(first)} including all excluding indexes "
        f"excluding constraints) partition by range ({TIME})"
    )
    for index in indexes:
        if index.valid and not _lacks_time(index):
            _copy_index(index, table, replaced.get(index.name, index.name))
    _copy_privileges(first, table)
    execute(
        f"alter table {quoted(table)} attach partition {quoted(first)} "
        f"for values from ({bound_sql(lower)}) to ({bound_sql(upper)})"
    )
    withdraw(first)
    if upper < MAX:
        create_months([table], [month_span(upper)])


def _rename_indexes(first: str, indexes: list[_Index]) -> None:
    """Rename the indexes of the first partition: the new table gets their names. Drop what it can't have."""
    for number, index in enumerate(indexes, 1):
        if _lacks_time(index) and index.constraint:
            execute(f"alter table {quoted(first)} drop constraint {quoted(index.constraint)}")
        elif _lacks_time(index) or not index.valid:
            execute(f"drop index {quoted(index.name)}")
        else:
            execute(f"alter index {quoted(index.name)} rename to {quoted(f'{first}_idx{number}')}")


def _indexes(table: str) -> list[_Index]:
    return [_Index(*each) for each in rows(_INDEXES, [quoted(table)])]


def _copy_index(index: _Index, table: str, name: str) -> None:
    """Make the same index of another table, with another name unless it has a constraint."""
    if index.constraint:
        constraint = f"{quoted(index.constraint)} {index.constraint_definition}"
        execute(f"alter table {quoted(table)} add constraint {constraint}")
        return
    # CREATE [UNIQUE] INDEX name ON schema.table USING ...: only the two names change.
    _, _, rest = index.definition.partition(" USING ")
    unique = "unique " if index.unique else ""
    execute(f"create {unique}index {quoted(name)} on {quoted(table)} using {rest}")


def _copy_privileges(source: str, copy: str) -> None:
    """Copy the owner and the privileges of a table to another."""
    owner, is_ours = row(_OWNER, [quoted(source)])
    if not is_ours:
        execute(f"alter table {quoted(copy)} owner to {owner}")
    for privilege, role, grantable in rows(_GRANTS, [quoted(source)]):
        option = " with grant option" if grantable else ""
        execute(f"grant {privilege} on {quoted(copy)} to {role}{option}")


# INDEXES OF PARTITIONED TABLES, built while these are in use, as PostgreSQL does for one partition only: the
# index of the whole table is made without its partitions, and is valid once each has one attached.

_STATEMENT = re.compile(r'create index concurrently "?(\w+)"? on "?(\w+)"? (.*)', re.S | re.I)
_ATTACHED = """
    select exists (
        select from pg_inherits join pg_index on indexrelid = inhrelid
        where inhparent = to_regclass(%s) and indrelid = to_regclass(%s))"""
_VALID = "select indisvalid from pg_index where indexrelid = to_regclass(%s)"


def has_partitions(statement: str) -> bool:
    """Return whether the table of a statement that builds an index concurrently has partitions."""
    return bool(partitioned_tables([_parts(statement)[1]]))


def build_index(statement: str) -> None:
    """Build the index of such a statement for a partitioned table; what is built of it stays."""
    index, table, rest = _parts(statement)
    if value(_VALID, [index]) is None:
        whole = f"create index {quoted(index)} on only {quoted(table)} {rest}"
        change_table(connection, table, lambda: execute(whole))
    for partition in partitions(table):
        if value(_ATTACHED, [index, quoted(partition.name)]):
            continue
        part = f"{partition.name}_{index.partition('__')[2]}"[:63]
        is_valid = value(_VALID, [quoted(part)])
        if is_valid is False:
            execute(f"drop index concurrently {quoted(part)}")
        if not is_valid:
            execute(f"create index concurrently {quoted(part)} on {quoted(partition.name)} {rest}")
        execute(f"alter index {quoted(index)} attach partition {quoted(part)}")


def _parts(statement: str) -> tuple[str, str, str]:
    match = _STATEMENT.fullmatch(statement.strip())
    if match is None:
        raise ValueError(f"This does not build an index concurrently: {statement}")
    index, table, rest = match.groups()
    return index, table, rest
