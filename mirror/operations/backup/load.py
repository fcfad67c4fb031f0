"""Loading a backup or a snapshot into an empty database.

Its rows are copied into tables that the migrations of this release have made. Nothing else of pg_dump's
archive is used, as pg_restore runs the statements that are in it. Until the end there is a schema
`restoring`, and no node starts on the database.
"""

import threading
from collections.abc import Collection
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psycopg
from django.apps import apps
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.recorder import MigrationRecorder

from ledger.ingest import stored_network
from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.db.distribution import cluster
from mirror.core.db.partitions import making
from mirror.core.db.partitions.catalogue import month_span, partitioned_tables
from mirror.core.db.statements import quoted
from mirror.core.logs import Echo
from mirror.core.processes.progress import ByteDisplay
from mirror.core.values.human_readable import byte_size
from mirror.models import LOADER_LOCK, UPGRADE_LOCK
from mirror.operations.backup import allowed, demo
from mirror.operations.backup.files import copy_rows
from mirror.operations.backup.manifest import BACKUP, BackupFile, DamagedBackup, Kind, Manifest
from mirror.operations.backup.sessions import Session, Task, check_room, exclusive, session, try_lock
from mirror.upgrade import tables

# Indexes of keys stay: rows are nearly in their order.
_INDEXES = """
    select array_agg(indexrelid::regclass::text),
        array_agg(replace(pg_get_indexdef(indexrelid), ' ON ONLY ', ' ON '))
    from pg_index
    join pg_class t on t.oid = indrelid
    where t.relname = any(%s) and pg_table_is_visible(t.oid) and not indisunique
        and not exists (select from pg_constraint where conindid = indexrelid)
    group by t.oid"""
_LINKED = """
    select conrelid::regclass::text from pg_constraint where contype = 'f'
    union select confrelid::regclass::text from pg_constraint where contype = 'f'"""
_SEQUENCES = """
    select quote_ident(relname), quote_ident(attname), pg_get_serial_sequence(quote_ident(relname), attname)
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relname = any(%s) and pg_table_is_visible(pg_class.oid) and attnum > 0 and not attisdropped
        and pg_get_serial_sequence(quote_ident(relname), attname) is not null"""
_LISTED = 20
_STAGING = "accounts_of_backup"
_ACCOUNTS = f"""
    select username, is_superuser::boolean, is_staff::boolean, is_active::boolean from {_STAGING}
    order by 2 desc, 3 desc, 4 desc, 1"""


def check(folder: Path, echo: Echo, stopping: threading.Event, *, jobs: int, kind: Kind = BACKUP) -> Manifest:
    """Read every file and compare it with what was written. Errors: DamagedBackup; Stopped."""
    task, manifest = Task(folder, echo, stopping, jobs), Manifest.read(folder, kind)
    if not _unknown_migrations(manifest):
        allowed.check(folder, manifest)
    manifest.check_sizes(folder)

    def read(file: BackupFile) -> int:
        task.check_stop()
        manifest.check_content(folder, file)
        return file.bytes

    with ByteDisplay("Checking", manifest.bytes, echo) as display, ThreadPoolExecutor(jobs) as pool:
        for size in pool.map(read, manifest.all_files):
            display.add(size)
    return manifest


def restore(
    folder: Path,
    echo: Echo,
    stopping: threading.Event,
    *,
    jobs: int,
    kind: Kind = BACKUP,
    with_accounts: bool = True,
) -> Manifest:
    """Load a backup or a snapshot; return its manifest. Errors: OperatorError; Stopped."""
    task, manifest = Task(folder, echo, stopping, jobs), Manifest.read(folder, kind)
    _check_fits(folder, manifest)
    check(folder, echo, stopping, jobs=jobs, kind=kind)
    if not with_accounts:
        manifest = allowed.without_accounts(manifest)
    if manifest.demo:
        demo.check_absent()
    with session() as first, exclusive(first):
        _exclude_loaders(first)
        _echo_accounts(task, first, manifest)
        if not config.value("db.url"):
            check_room(settings.DATA_DIR, manifest.database_bytes, "The database")
        _check_empty(first, manifest)
        first.execute(f"create schema {tables.RESTORING}")
        _make_tables(task, first, manifest)
        indexes = _drop_indexes(first, manifest)
        _load(task, first, manifest)
        _build(task, indexes)
        _finish(task, first, manifest)
        tables.make_tables(echo)
        stored_network.check()
    return manifest


# WHETHER IT CAN BE LOADED


def _exclude_loaders(first: Session) -> None:
    """Take the locks of loaders and upgrades for the length of the session.

    Errors: OperatorError if one is at work. Those that come later wait, or are refused.
    """
    if not (try_lock(first, LOADER_LOCK) and try_lock(first, UPGRADE_LOCK)):
        raise OperatorError("A node loads into this database, or upgrades it: stop the node first.")


def _check_fits(folder: Path, manifest: Manifest) -> None:
    """Raise OperatorError if this node is of another network, or can't bring the tables up to date."""
    if manifest.network != config.value("network"):
        raise OperatorError(
            f"The {manifest.kind} in {folder} is of the network {manifest.network}, and "
            f"{config.lookup('network').variable} is {config.value('network')}: set it to "
            f"{manifest.network}."
        )
    if unknown := _unknown_migrations(manifest):
        app, name = unknown[-1]
        raise OperatorError(
            f"The {manifest.kind} in {folder} was made by a newer release ({manifest.release}, with "
            f"the migration {app} {name}): install that release, or a later one."
        )


def _unknown_migrations(manifest: Manifest) -> list[tuple[str, str]]:
    return sorted(tables.without_replaced(manifest.migrations) - tables.on_disk())


def _check_empty(first: Session, manifest: Manifest) -> None:
    """Raise OperatorError if the database has rows of a network, or tables of another release."""
    tables.check_restored()
    applied = tables.without_replaced(MigrationRecorder(connection).applied_migrations())
    if not any(app in tables.LEDGER_APPS for app, _ in applied):
        tables.check_foreign_tables()
        return
    if applied != tables.without_replaced(manifest.migrations):
        raise OperatorError(
            f"The database has tables of another release than the {manifest.kind}: name one "
            "without tables, or a new data folder (SVC_MIRROR_DATA)."
        )
    names = [
        model._meta.db_table for model in apps.get_models() if model._meta.app_label in tables.LEDGER_APPS
    ]
    filled = " union all ".join(f"(select '{name}' from \"{name}\" limit 1)" for name in names)
    if row := first.execute(filled.encode()).fetchone():
        raise OperatorError(
            f"The database is not empty (the table {row[0]} has rows): a {manifest.kind} is restored into "
            "an empty database, or a new data folder (SVC_MIRROR_DATA)."
        )


# ACCOUNTS


def _echo_accounts(task: Task, first: Session, manifest: Manifest) -> None:
    """Print the accounts of a backup, before anything is loaded. Errors: DamagedBackup; Stopped."""
    if manifest.folder_kind != BACKUP:
        return
    accounts = _accounts(task, first, manifest)
    if not accounts:
        task.echo("No account of another node is restored.")
        return
    more = f" and {len(accounts) - _LISTED:,} more" if len(accounts) > _LISTED else ""
    task.echo(
        f"The backup has {len(accounts):,} accounts, which this node lets in with their passwords: "
        f"{', '.join(accounts[:_LISTED])}{more}. --without-accounts leaves them out."
    )


def _accounts(task: Task, first: Session, manifest: Manifest) -> list[str]:
    name = get_user_model()._meta.db_table
    files = [file for file in manifest.files if file.table == name]
    if not files:
        return []
    # As text, in a table of this session: the tables themselves may not exist yet.
    columns = ", ".join(f'"{column}" text' for column in manifest.tables[name].columns)
    with first.transaction(force_rollback=True):
        first.execute(f"create temporary table {_STAGING} ({columns})".encode())
        for file in files:
            copy_rows(task, first, manifest, file, into=_STAGING)
        try:
            return [_described(*row) for row in first.execute(_ACCOUNTS)]
        except (psycopg.DataError, psycopg.errors.UndefinedColumn) as error:
            raise DamagedBackup(f"The backup in {task.folder} has no readable accounts: {error}") from error


def _described(username: str | None, is_superuser: bool, is_staff: bool, is_active: bool) -> str:
    rights = "superuser" if is_superuser else "staff" if is_staff else "no access to the admin"
    return f"{username!r} ({rights if is_active else 'inactive'})"


# TABLES, ROWS, INDEXES


def _make_tables(task: Task, first: Session, manifest: Manifest) -> None:
    """Make the tables, empty; partitioned and distributed as this node's settings say, with all months."""
    task.echo("Making the tables.")
    executor = MigrationExecutor(connection)
    executor.migrate(allowed.last_migrations(executor.loader, manifest))
    _empty(first, manifest.tables)
    tables.arrange_partitions()
    with transaction.atomic():
        if (partitioned := partitioned_tables()) and manifest.times:
            start, end = manifest.times
            months = [month_span(start)]
            while months[-1][1] <= end:
                months.append(month_span(months[-1][1]))
            making.create_months(partitioned, months)
    cluster.distribute_if_configured()


def _drop_indexes(first: Session, manifest: Manifest) -> list[list[str]]:
    """Drop the indexes that are built faster when all rows are there; return their definitions by table."""
    indexes = first.execute(_INDEXES, [[*manifest.tables]]).fetchall()
    # One at a time: the server has a limited number of locks, and each month needs some.
    for names, _ in indexes:
        for name in names:
            first.execute(f"drop index {name}".encode())
    return [definitions for _, definitions in indexes]


def _empty(first: Session, names: Collection[str]) -> None:
    """Empty the tables, also of what migrations and a first start have written: accounts, permissions."""
    linked = _linked_tables(first).intersection(names)
    for together in (linked, *({table} for table in names if table not in linked)):
        if together:
            first.execute(f"truncate {', '.join(map(quoted, sorted(together)))}".encode())


def _linked_tables(first: Session) -> set[str]:
    """Return the tables that refer to others by foreign keys, and these others."""
    return {name for (name,) in first.execute(_LINKED)}


def _load(task: Task, first: Session, manifest: Manifest) -> None:
    files = [file for file in manifest.files if file.table]
    total = sum(file.bytes for file in files)
    task.echo(f"{manifest.rows:,} rows of {byte_size(total)} are loaded.")
    # Tables that refer to each other are loaded together, in any order of their rows.
    linked = _linked_tables(first)
    alone = sorted((file for file in files if file.table not in linked), key=lambda file: -file.bytes)
    with ByteDisplay("Loading", total, task.echo) as display:

        def load(own: Session, file: BackupFile) -> None:
            copy_rows(task, own, manifest, file)
            display.add(file.bytes)

        with first.transaction():
            for file in files:
                if file.table in linked:
                    load(first, file)
        task.run_all(alone, load)


def _build(task: Task, indexes: list[list[str]]) -> None:
    task.echo(f"Building {sum(map(len, indexes))} indexes.")

    # Those of one table are built one after another: their partitions would get the same names otherwise.
    def build(own: Session, definitions: list[str]) -> None:
        own.execute("set maintenance_work_mem = '256MB'")
        for definition in definitions:
            own.execute(definition.encode())

    task.run_all(indexes, build)


def _finish(task: Task, first: Session, manifest: Manifest) -> None:
    names = sorted(manifest.tables)
    for table, column, sequence in first.execute(_SEQUENCES, [names]).fetchall():
        first.execute(
            f"select setval('{sequence}', coalesce(max({column}), 1), max({column}) is not null) from {table}"
        )
    task.echo("Gathering statistics for the planner.")
    task.run_all(names, lambda own, table: own.execute(f'vacuum (analyze) "{table}"'.encode()))
    if manifest.demo:
        demo.unpack(task.folder)
    first.execute(f"drop schema {tables.RESTORING}")
