"""The empty tables that a backup or a snapshot is loaded into, and the notes of what is loaded."""

from collections.abc import Collection

from django.apps import apps
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

from mirror.core.config.errors import OperatorError
from mirror.core.db.distribution import cluster
from mirror.core.db.partitions import making
from mirror.core.db.partitions.catalogue import (
    month_span,
    partitionable_tables,
    partitioned_tables,
    partitions,
)
from mirror.core.db.partitions.partitioning import partition_table
from mirror.core.db.statements import execute, quoted
from mirror.core.logs import Echo
from mirror.node.start import tables
from mirror.node.start.tables import LEDGER_APPS
from mirror.operations.backup.chunks import backed_up_tables
from mirror.operations.backup.manifest import SNAPSHOT, Manifest
from mirror.operations.backup.sessions import Session

_NOTES = f"""
    create schema {tables.RESTORING};
    create table {tables.RESTORING}.backup (
        sha256 text not null, prepared boolean not null, tables text[] not null);
    create table {tables.RESTORING}.file (name text primary key);
    create table {tables.RESTORING}.index (
        name text primary key, "table" text not null, definition text not null)"""
# Indexes of keys stay: rows are nearly in their order.
_INDEXES = """
    select indexrelid::regclass::text, t.oid::regclass::text, pg_get_indexdef(indexrelid)
    from pg_index
    join pg_class t on t.oid = indrelid
    where t.relname = any(%s) and pg_table_is_visible(t.oid) and not indisunique
        and not exists (select from pg_constraint where conindid = indexrelid)"""
_LINKED = """
    select conrelid::regclass::text from pg_constraint where contype = 'f'
    union select confrelid::regclass::text from pg_constraint where contype = 'f'"""


def has_begun(first: Session, manifest: Manifest) -> bool:
    """Return whether loading this one has begun. Errors: OperatorError if loading another one has."""
    if not tables.is_restoring():
        return False
    row = first.execute(f"select sha256 from {tables.RESTORING}.backup").fetchone()
    if row != (manifest.digest,):
        raise OperatorError(
            f"Another {manifest.kind} is restored into this database, and that is not finished: go on "
            "with that one, or name an empty database."
        )
    return True


def check_empty(first: Session, manifest: Manifest) -> None:
    """Raise OperatorError if the database has rows of a network, or tables of another release."""
    applied = tables.without_replaced(MigrationRecorder(connection).applied_migrations())
    if not any(app in LEDGER_APPS for app, _ in applied):
        tables.check_foreign_tables()
        return
    if applied != tables.without_replaced(manifest.migrations):
        raise OperatorError(
            f"The database has tables of another release than the {manifest.kind}: name one "
            "without tables, or a new data folder (SVC_MIRROR_DATA)."
        )
    backed_up = manifest.tables
    whole = [name for name in partitioned_tables() if name in backed_up and not backed_up[name].partitions]
    # A snapshot's tables are partitioned as this node's are.
    if whole and manifest.folder_kind != SNAPSHOT:
        raise OperatorError(
            f"The database has tables partitioned by month ({whole[0]} and others), and those of the backup "
            "are whole: name a database without tables, or a new data folder (SVC_MIRROR_DATA)."
        )
    names = [model._meta.db_table for model in apps.get_models() if model._meta.app_label in LEDGER_APPS]
    filled = " union all ".join(f"(select '{name}' from \"{name}\" limit 1)" for name in names)
    if row := first.execute(filled).fetchone():
        raise OperatorError(
            f"The database is not empty (the table {row[0]} has rows): a {manifest.kind} is restored into "
            "an empty database, or a new data folder (SVC_MIRROR_DATA)."
        )


def prepare(first: Session, manifest: Manifest, echo: Echo) -> None:
    """Make the tables, empty and without most indexes, unless that is done.

    Those of a backup are partitioned as they were, those of a snapshot as this node's settings say.
    """
    if not tables.is_restoring():
        with first.transaction():
            first.execute(_NOTES)
            first.execute(
                f"insert into {tables.RESTORING}.backup values (%s, false, %s)",
                [manifest.digest, sorted(manifest.tables)],
            )
    if first.execute(f"select prepared from {tables.RESTORING}.backup").fetchone() == (True,):
        return
    echo("Making the tables.")
    _migrate(manifest)
    empty(first, manifest.tables)
    is_snapshot = manifest.folder_kind == SNAPSHOT
    for table, backed_up in manifest.tables.items():
        if backed_up.partitions and not (is_snapshot and table in partitionable_tables()):
            _arrange(table, backed_up.partitions)
    if is_snapshot:
        _arrange_as_here(manifest)
    # One at a time: the server has a limited number of locks, and each month needs some.
    for name, table, definition in first.execute(_INDEXES, [sorted(manifest.tables)]).fetchall():
        with first.transaction():
            first.execute(
                f"insert into {tables.RESTORING}.index values (%s, %s, %s)",
                [name, table, definition.replace(" ON ONLY ", " ON ", 1)],
            )
            first.execute(f"drop index {name}".encode())
    first.execute(f"update {tables.RESTORING}.backup set prepared = true")


def _migrate(manifest: Manifest) -> None:
    """Apply the migrations that the backed-up database had, and no later one."""
    executor = MigrationExecutor(connection)
    executor.migrate(last_migrations(executor.loader, manifest))


def last_migrations(loader: MigrationLoader, manifest: Manifest) -> list[tuple[str, str]]:
    """Return the last migration of each app that the backed-up database had."""
    had = set(manifest.migrations)
    graph = loader.graph
    return [
        node
        for node in sorted(had & set(graph.nodes))
        if not any(child.key in had and child.key[0] == node[0] for child in graph.node_map[node].children)
    ]


def empty(first: Session, names: Collection[str]) -> None:
    """Empty the tables, also of what migrations and a first start have written: accounts, permissions."""
    linked = linked_tables(first).intersection(names)
    for together in (linked, *({table} for table in names if table not in linked)):
        if together:
            first.execute(f"truncate {', '.join(map(quoted, sorted(together)))}".encode())


def _arrange(table: str, bounds: list[tuple[int, int]]) -> None:
    """Give an empty table the partitions that it had, and no others."""
    if table in partitionable_tables():
        partition_table(table)
    with transaction.atomic():
        present = {(each.lower, each.upper): each.name for each in partitions(table)}
        if not present:
            raise OperatorError(f"The backup has partitions of the table {table}, which has none here.")
        missing = [each for each in bounds if each not in present]
        surplus = [name for each, name in present.items() if each not in bounds]
        for name in surplus:
            execute(f"alter table {quoted(table)} detach partition {quoted(name)}")
        for lower, upper in missing:
            making.create_partition(table, lower, upper, like=next(iter(present.values())))
        for name in surplus:
            execute(f"drop table {quoted(name)}")


def _arrange_as_here(manifest: Manifest) -> None:
    """Partition and distribute the empty tables as this node's settings say, with a month for every row."""
    tables.arrange_partitions()
    with transaction.atomic():
        if (partitioned := partitioned_tables()) and manifest.times:
            first, last = manifest.times
            months = [month_span(first)]
            while months[-1][1] <= last:
                months.append(month_span(months[-1][1]))
            making.create_months(partitioned, months)
    cluster.distribute_if_configured()


# NOTES


def filled_tables(first: Session) -> list[str]:
    """Return the tables that the unfinished restore fills."""
    # An older release did not note them: it fills all of a backup.
    noted = first.execute(f"select to_jsonb(b) -> 'tables' from {tables.RESTORING}.backup b").fetchone()
    everything = backed_up_tables(first)
    return [table for table in everything if table in noted[0]] if noted and noted[0] else [*everything]


def done_files(first: Session) -> set[str]:
    return {name for (name,) in first.execute(f"select name from {tables.RESTORING}.file")}


def note_file(own: Session, name: str) -> None:
    """Note, in the transaction of its rows, that a file is loaded."""
    own.execute(f"insert into {tables.RESTORING}.file values (%s) on conflict do nothing", [name])


def indexes_left(first: Session) -> list[list[tuple[str, str]]]:
    """Return names and definitions of the indexes that are still to be built, by table, the largest first."""
    rows = first.execute(
        f"""
        select array_agg(array[i.name, definition] order by i.name)
        from {tables.RESTORING}.index i
        group by "table"
        order by (
            select sum(pg_relation_size(relid)) from (
                select i."table"::regclass union select relid from pg_partition_tree(i."table"::regclass)
            ) parts (relid)
        ) desc"""
    )
    return [[(name, definition) for name, definition in indexes] for (indexes,) in rows.fetchall()]


def build_index(own: Session, name: str, definition: str) -> None:
    with own.transaction():
        own.execute(definition.encode())
        own.execute(f"delete from {tables.RESTORING}.index where name = %s", [name])


def linked_tables(first: Session) -> set[str]:
    """Return the tables that refer to others by foreign keys, and these others."""
    return {name for (name,) in first.execute(_LINKED)}


def end(first: Session) -> None:
    """Drop the notes: everything is loaded, and on the disk."""
    first.execute("set synchronous_commit = on")
    first.execute(f"drop schema {tables.RESTORING} cascade")
