"""The division of a table by month, while it is read and written.

The table as it is becomes the first partition of a new table of its name: of the month at hand if it is
empty, else of all months from its first row to the next month. No row is moved. The steps are

1. a check of the times in the table is added, which locks the table briefly;
2. the stored rows are checked, which reads the table once and lets everybody work;
3. where a unique index does not contain the time, one with it is built concurrently, in the same way;
4. the table is renamed and attached, which takes the table for some milliseconds.

What is done can be seen in the catalogue, so another process goes on wherever one was killed.
"""

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from django.db import connection
from django.db.backends.utils import CursorWrapper

from mirror.core.config.errors import OperatorError
from mirror.core.db.partitions import announcement
from mirror.core.db.partitions.catalogue import TIME, divided_tables, month_of, name_of, text_of
from mirror.core.db.partitions.making import make_months, unused_name
from mirror.core.db.schema.locking import change_table
from mirror.core.values.timestamp import MAX

_ENDS = "select min({time}), max({time}) from {table}"
_VALIDATED = "select convalidated from pg_constraint where conrelid = to_regclass(%s) and conname = %s"

# The views that read a table would go on reading what is then only its first partition.
_VIEWS = """
    select distinct view.relname from pg_depend d
    join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
    join pg_class view on view.oid = r.ev_class
    where d.refobjid = to_regclass(%s) and d.refclassid = 'pg_class'::regclass"""

_INDEXES = """
    select c.relname, i.indisprimary, i.indisunique, i.indisvalid,
        array(
            select attname
            from unnest(i.indkey[:i.indnkeyatts - 1]) with ordinality as key (number, position)
            join pg_attribute a on a.attrelid = i.indrelid and a.attnum = number order by position
        )::text[],
        pg_get_indexdef(i.indexrelid), k.conname
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    left join pg_constraint k on k.conindid = i.indexrelid and k.contype in ('p', 'u')
    where i.indrelid = to_regclass(%s)
    order by not i.indisprimary, c.relname"""

# Who may do what, apart from the owner.
_GRANTS = """
    select g.privilege_type, case when g.grantee = 0 then 'public' else quote_ident(r.rolname) end,
        g.is_grantable
    from pg_class c cross join lateral aclexplode(c.relacl) g left join pg_roles r on r.oid = g.grantee
    where c.oid = to_regclass(%s) and g.grantee <> c.relowner"""
_OWNER = "select pg_get_userbyid(relowner), current_user from pg_class where oid = to_regclass(%s)"


class _Index(NamedTuple):
    name: str
    primary: bool
    unique: bool
    valid: bool
    columns: list[str]
    definition: str
    constraint: str | None

    @property
    def lacks_time(self) -> bool:
        """Whether partitions can't have it: they are unique only with the time."""
        return self.unique and TIME not in self.columns


def divide(table: str, *, undisturbed: Callable[[Callable[[], None]], bool] | None = None) -> bool:
    """Divide a table, unless it is divided; outside of transactions.

    The steps that take long are handed to `undisturbed`, which may interrupt them and then returns False; so
    does this. Errors: OperatorError.
    """
    undisturbed = undisturbed or _done
    with connection.cursor() as cursor:
        if divided_tables(cursor, [table]):
            return True
        _refuse_views(cursor, table)
        if not _announced(cursor, table):
            change_table(connection, table, lambda: _announce(table))
        if not undisturbed(lambda: _complete_indexes(table)) or not undisturbed(lambda: _validate(table)):
            return False
        change_table(connection, table, lambda: _divide(table))
    return True


def _done(work: Callable[[], None]) -> bool:
    work()
    return True


def _refuse_views(cursor: CursorWrapper, table: str) -> None:
    cursor.execute(_VIEWS, [_quoted(table)])
    if views := [name for (name,) in cursor.fetchall()]:
        raise OperatorError(
            f"The table {table} can't be divided by month while views read it ({', '.join(views)}): they "
            "would miss the rows of new months. Drop them, and make them again afterwards."
        )


# 1. THE CHECK


def _announced(cursor: CursorWrapper, table: str) -> bool:
    return table in announcement.announcements(cursor)


def _announce(table: str) -> None:
    with connection.cursor() as cursor:
        # No rows are written between reading the last row and the check.
        cursor.execute(f"lock table {_quoted(table)} in access exclusive mode")
        if not _announced(cursor, table):
            announcement.announce(cursor, table, *_times(cursor, table))


def _times(cursor: CursorWrapper, table: str) -> tuple[int, int]:
    """Return the times of the first partition: of this month, or from the first row to the next month."""
    now = time.time_ns()
    cursor.execute(_ENDS.format(time=TIME, table=_quoted(table)))
    first, last = cursor.fetchone()
    if first is None:
        return month_of(now)
    _, end = month_of(max(last, now))
    return month_of(first)[0], month_of(end)[1]


# 2. ITS ROWS


def _validate(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_VALIDATED, [_quoted(table), announcement.NAME])
        if cursor.fetchone() == (False,):
            cursor.execute(f"alter table {_quoted(table)} validate constraint {announcement.NAME}")


# 3. UNIQUE INDEXES


def _complete_indexes(table: str) -> None:
    """Build an index with the time for each unique one without it."""
    with connection.cursor() as cursor:
        indexes = _indexes(cursor, table)
        for index in indexes:
            if not index.lacks_time:
                continue
            with_time = _with_time(index)
            present = next((each for each in indexes if each.name == with_time), None)
            if present and not present.valid:
                # The remains of an attempt that was interrupted.
                cursor.execute(f"drop index concurrently {_quoted(with_time)}")
            if not present or not present.valid:
                columns = ", ".join(map(_quoted, [*index.columns, TIME]))
                cursor.execute(
                    f"create unique index concurrently {_quoted(with_time)} on {_quoted(table)} ({columns})"
                )


def _with_time(index: _Index) -> str:
    return f"{index.name}_time"


def _indexes(cursor: CursorWrapper, table: str) -> list[_Index]:
    cursor.execute(_INDEXES, [_quoted(table)])
    return [_Index(*row) for row in cursor.fetchall()]


# 4. THE NEW TABLE


def _divide(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"lock table {_quoted(table)} in access exclusive mode")
        lower, upper = announcement.announcements(cursor)[table]
        first = unused_name(cursor, name_of(table, lower, upper))
        indexes = _indexes(cursor, table)
        cursor.execute(f"alter table {_quoted(table)} rename to {_quoted(first)}")
        _free_names(cursor, first, indexes)
        cursor.execute(
            f"create table {_quoted(table)} (like {_quoted(first)} including all excluding indexes "
            f"excluding constraints) partition by range ({TIME})"
        )
        for index in indexes:
            if index.valid and not index.lacks_time:
                _copy_index(cursor, table, index, indexes)
        _copy_rights(cursor, table, first)
        cursor.execute(
            f"alter table {_quoted(table)} attach partition {_quoted(first)} "
            f"for values from ({text_of(lower)}) to ({text_of(upper)})"
        )
        announcement.withdraw(cursor, first)
        if upper < MAX:
            make_months(cursor, [table], [month_of(upper)])


def _free_names(cursor: CursorWrapper, first: str, indexes: list[_Index]) -> None:
    """Rename the indexes of the first partition: the new table gets their names. Drop what it can't have."""
    for number, index in enumerate(indexes, 1):
        if index.lacks_time and index.constraint:
            cursor.execute(f"alter table {_quoted(first)} drop constraint {_quoted(index.constraint)}")
        elif index.lacks_time or not index.valid:
            cursor.execute(f"drop index {_quoted(index.name)}")
        else:
            cursor.execute(f"alter index {_quoted(index.name)} rename to {_quoted(f'{first}_idx{number}')}")


def _copy_index(cursor: CursorWrapper, table: str, index: _Index, indexes: list[_Index]) -> None:
    if index.constraint:
        kind = "primary key" if index.primary else "unique"
        columns = ", ".join(map(_quoted, index.columns))
        cursor.execute(
            f"alter table {_quoted(table)} add constraint {_quoted(index.constraint)} {kind} ({columns})"
        )
        return
    replaced = next((each for each in indexes if each.lacks_time and _with_time(each) == index.name), None)
    name = replaced.name if replaced else index.name
    # CREATE [UNIQUE] INDEX name ON schema.table USING ...: only the two names change.
    head, _, rest = index.definition.partition(" USING ")
    unique = "unique " if head.startswith("CREATE UNIQUE") else ""
    cursor.execute(f"create {unique}index {_quoted(name)} on {_quoted(table)} using {rest}")


def _copy_rights(cursor: CursorWrapper, table: str, first: str) -> None:
    cursor.execute(_OWNER, [_quoted(first)])
    owner, user = cursor.fetchone()
    if owner != user:
        cursor.execute(f"alter table {_quoted(table)} owner to {_quoted(owner)}")
    cursor.execute(_GRANTS, [_quoted(first)])
    for privilege, role, grantable in cursor.fetchall():
        option = " with grant option" if grantable else ""
        cursor.execute(f"grant {privilege} on {_quoted(table)} to {role}{option}")


def _quoted(name: str) -> str:
    quoted: Any = connection.ops.quote_name
    return str(quoted(name))
