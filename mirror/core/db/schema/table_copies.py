"""Empty copies of tables in a schema of their own, which can take the places of the tables.

Who looks into that schema first, by its search path, reads and writes the copies without knowing it.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections

from mirror.core.db.statements import column, execute, quoted, row, rows, value

#: Where the tables of a node are.
PUBLIC = "public"

# Tables with their partitions below them.
_TABLES = """
    select c.oid::bigint, c.relname, coalesce(root.relname, c.relname), c.relispartition,
        case when c.relkind = 'p' then pg_get_partkeydef(c.oid) end,
        pg_get_expr(c.relpartbound, c.oid), array_to_string(c.reloptions, ', ')
    from pg_class c
    left join pg_class root on root.oid = pg_partition_root(c.oid) and c.relispartition
    where c.relnamespace = to_regnamespace(%s) and c.relkind in ('r', 'p')
        and coalesce(root.relname, c.relname) = any(%s)
    order by coalesce(root.relname, c.relname), c.relispartition, c.relname"""
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
# The columns of tables, and by what these are partitioned.
_SHAPES = """
    select c.relname, concat_ws(', ', case when c.relkind = 'p' then pg_get_partkeydef(c.oid) end, (
        select string_agg(
            concat_ws(' ', attname, format_type(atttypid, atttypmod), attnotnull), ', ' order by attname)
        from pg_attribute where attrelid = c.oid and attnum > 0 and not attisdropped))
    from pg_class c
    where c.relnamespace = to_regnamespace(%s) and c.relname = any(%s) and c.relkind in ('r', 'p')"""
_VIEWS = """
    select distinct view.relname from pg_depend d
    join pg_rewrite r on r.oid = d.objid and d.classid = 'pg_rewrite'::regclass
    join pg_class view on view.oid = r.ev_class
    where d.refclassid = 'pg_class'::regclass
        and d.refobjid in (select to_regclass(name) from unnest(%s::text[]) name)"""
# Who may do what, apart from the owner.
_GRANTS = """
    select g.privilege_type, case when g.grantee = 0 then 'public' else quote_ident(r.rolname) end,
        g.is_grantable
    from pg_class c cross join lateral aclexplode(c.relacl) g left join pg_roles r on r.oid = g.grantee
    where c.oid = to_regclass(%s) and g.grantee <> c.relowner"""
_OWNER = """
    select quote_ident(pg_get_userbyid(relowner)), relowner = current_user::regrole
    from pg_class where oid = to_regclass(%s)"""


class _Table(NamedTuple):
    """A table or partition; `root` is the name of the whole table, `key` and `bound` are SQL."""

    oid: int
    name: str
    root: str
    is_partition: bool
    key: str | None
    bound: str | None
    options: str | None


class Index(NamedTuple):
    """An index, and its constraint if it has one; `columns` are those of its key that are no expressions."""

    name: str
    valid: bool
    unique: bool
    columns: list[str]
    definition: str
    constraint: str | None
    constraint_definition: str | None


def schema_exists(schema: str) -> bool:
    return bool(value("select to_regnamespace(%s) is not null", [schema]))


def views(tables: Iterable[str]) -> list[str]:
    """Return the views that read the tables: they would go on reading them when copies take their places."""
    return dependent_views([_qualified(PUBLIC, table) for table in tables])


def dependent_views(tables: list[str]) -> list[str]:
    """Return the views that read tables, which are named as SQL has them."""
    return column(_VIEWS, [tables])


def copy_tables(tables: Iterable[str], schema: str) -> None:
    """Make empty copies of tables, with the same partitions and with indexes of the same names."""
    execute(f"create schema {quoted(schema)}")
    made = _tables(PUBLIC, tables)
    for table in made:
        name, original = _qualified(schema, table.name), _qualified(PUBLIC, table.name)
        options = f" with ({table.options})" if table.options else ""
        if table.is_partition:
            whole = _qualified(schema, table.root)
            execute(f"create table {name} partition of {whole} {table.bound}{options}")
            continue
        partitioned = f" partition by {table.key}" if table.key else ""
        execute(
            f"create table {name} (like {original} including all excluding indexes){partitioned}{options}"
        )
    for table in made:
        if not table.is_partition:
            _copy_indexes(table, schema)


def changed_tables(tables: Iterable[str], schema: str) -> list[str]:
    """Return the tables that have other columns than their copies, or are partitioned otherwise."""
    names = list(tables)
    copied = dict(rows(_SHAPES, [schema, names]))
    return [name for name, shape in rows(_SHAPES, [PUBLIC, names]) if copied.get(name) != shape]


def complete_indexes(tables: Iterable[str], schema: str) -> None:
    """Make the indexes that the tables have got since they were copied."""
    for table in _tables(PUBLIC, tables):
        if not table.is_partition:
            _copy_indexes(table, schema)


def _copy_indexes(table: _Table, schema: str) -> None:
    for index in indexes(_qualified(PUBLIC, table.name)):
        if index.valid and value("select to_regclass(%s) is null", [_qualified(schema, index.name)]):
            copy_index(index, _qualified(schema, table.name))


def indexes(table: str) -> list[Index]:
    """Return the indexes of a table, which is named as SQL has it."""
    return [Index(*each) for each in rows(_INDEXES, [table])]


def copy_index(index: Index, table: str, name: str = "") -> None:
    """Make the same index of another table, which is named as SQL has it; `name` is another name for it."""
    if index.constraint:
        constraint = f"{quoted(index.constraint)} {index.constraint_definition}"
        execute(f"alter table {table} add constraint {constraint}")
        return
    # CREATE [UNIQUE] INDEX name ON schema.table USING ...: only the two names change.
    _, _, rest = index.definition.partition(" USING ")
    unique = "unique " if index.unique else ""
    execute(f"create {unique}index {quoted(name or index.name)} on {table} using {rest}")


def swap_tables(tables: Iterable[str], schema: str, old: str) -> None:
    """Put copies in the places of the tables, which move to the new schema `old`; within a transaction.

    Who may read or write a table may do the same with its copy. The caller sets a lock_timeout that is
    shorter than deadlock_timeout: readers may hold some of the tables and want others.
    """
    names = list(tables)
    originals, copies = _tables(PUBLIC, names), _tables(schema, names)
    whole = ", ".join(_qualified(PUBLIC, table.name) for table in originals if not table.is_partition)
    execute(f"lock table {whole} in access exclusive mode")
    execute(f"create schema {quoted(old)}")
    for table in copies:
        if source := next((each for each in originals if each.name == table.name), None):
            copy_privileges(_qualified(PUBLIC, source.name), _qualified(schema, table.name))
    for table in originals:
        execute(f"alter table {_qualified(PUBLIC, table.name)} set schema {quoted(old)}")
    for table in copies:
        execute(f"alter table {_qualified(schema, table.name)} set schema {quoted(PUBLIC)}")


def copy_privileges(source: str, copy: str) -> None:
    """Copy the owner and the privileges of a table to another; both names are quoted."""
    owner, is_ours = row(_OWNER, [source])
    if not is_ours:
        execute(f"alter table {copy} owner to {owner}")
    for privilege, role, grantable in rows(_GRANTS, [source]):
        option = " with grant option" if grantable else ""
        execute(f"grant {privilege} on {copy} to {role}{option}")


@contextmanager
def search_path(schema: str, *parameters: str) -> Iterator[None]:
    """Let all connections that this process opens meanwhile look into a schema before the public one.

    `parameters` of the server are set for them, such as "synchronous_commit=off".
    """
    settings = connections.settings[DEFAULT_DB_ALIAS]
    before = settings.get("OPTIONS", {})
    changes = " ".join(f"-c {each}" for each in (f"search_path={schema},{PUBLIC}", *parameters))
    connections.close_all()
    settings["OPTIONS"] = before | {"options": f"{before.get('options', '')} {changes}".strip()}
    try:
        yield
    finally:
        connections.close_all()
        settings["OPTIONS"] = before


def _tables(schema: str, tables: Iterable[str]) -> list[_Table]:
    return [_Table(*found) for found in rows(_TABLES, [schema, list(tables)])]


def _qualified(schema: str, name: str) -> str:
    return f"{quoted(schema)}.{quoted(name)}"
