"""Loading a backup or a snapshot into an empty database, also after an interruption.

The schema `restoring` lists the files and indexes that are done, in the same transaction as their rows. It is
dropped in the end: until then a node does not start on the database.
"""

import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import suppress
from pathlib import Path

import psycopg
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command

from ledger.ingest import stored_network
from mirror.core import config
from mirror.core.config.errors import OperatorError
from mirror.core.db.distribution import is_distributed
from mirror.core.logs import Echo
from mirror.core.processes.progress import ByteDisplay
from mirror.core.values.human_readable import byte_size
from mirror.models import LOADER_LOCK, UPGRADE_LOCK
from mirror.operations.backup import accounts, allowed, demo, preparation
from mirror.operations.backup.files import copy_rows
from mirror.operations.backup.manifest import BACKUP, DEMO, BackupFile, Kind, Manifest
from mirror.operations.backup.sessions import Session, Task, check_room, exclusive, session, try_lock
from mirror.upgrade import tables

# A table whose files have no more bytes is loaded in one transaction. That saves the log of PostgreSQL and a
# vacuum, but an interruption loses it.
_AT_ONCE_BYTES = 512 << 20
_PLAIN = "select relname from pg_class where relkind = 'r' and pg_table_is_visible(oid)"
_MEMORY = "set maintenance_work_mem = '256MB'"
# A crash that loses the last commits loses rows together with the note that they are there.
_FAST = "set synchronous_commit = off"
_SEQUENCES = """
    select quote_ident(relname), quote_ident(attname), pg_get_serial_sequence(quote_ident(relname), attname)
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relname = any(%s) and pg_table_is_visible(pg_class.oid) and attnum > 0 and not attisdropped
        and pg_get_serial_sequence(quote_ident(relname), attname) is not null"""


def check(folder: Path, echo: Echo, stopping: threading.Event, *, jobs: int, kind: Kind = BACKUP) -> Manifest:
    """Read every file and compare it with what was written. Errors: DamagedBackup; Stopped."""
    task, manifest = Task(folder, echo, stopping, jobs), Manifest.read(folder, kind)
    if not _unknown_migrations(manifest):
        allowed.check(folder, manifest)
    manifest.check_sizes(folder)
    with ByteDisplay("Checking", manifest.bytes, echo) as display, ThreadPoolExecutor(jobs) as pool:
        running = {pool.submit(manifest.check_content, folder, file): file for file in manifest.all_files}
        try:
            for future in as_completed(running):
                future.result()
                display.add(running[future].bytes)
                task.check_stop()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
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
    """Load a backup, or resume that; return its manifest. Errors: OperatorError; Stopped."""
    task, manifest = Task(folder, echo, stopping, jobs), Manifest.read(folder, kind)
    _check_fits(folder, manifest)
    allowed.check(folder, manifest)
    manifest.check_sizes(folder)
    if not with_accounts:
        manifest = accounts.left_out(manifest)
    with session() as first, exclusive(first):
        _exclude_loaders(first)
        accounts.echo_accounts(task, first, manifest)
        if not preparation.has_begun(first, manifest):
            if not config.value("db.url"):
                check_room(settings.DATA_DIR, manifest.database_bytes, "The database")
            if manifest.demo:
                demo.check_absent()
            preparation.check_empty(first, manifest)
        preparation.prepare(first, manifest, echo)
        echo(f"{manifest.rows:,} rows of {byte_size(manifest.bytes)} are loaded.")
        _load(task, first, manifest)
        _build_indexes(task, first)
        _finish(task, first, manifest)
        tables.make_tables(echo)
        stored_network.check()
    return manifest


def undo(echo: Echo, stopping: threading.Event) -> None:
    """Empty a database into which a restore has not ended. Errors: OperatorError; Stopped."""
    with session() as first, exclusive(first):
        _exclude_loaders(first)
        if not tables.is_restoring():
            raise OperatorError("No restore is unfinished in this database: there is nothing to undo.")
        if DEMO in preparation.done_files(first):
            demo.remove()
        # A restore that goes on after an interruption of this one loads everything again.
        first.execute(f"delete from {tables.RESTORING}.file")
        preparation.empty(first, preparation.filled_tables(first))
        _build_indexes(Task(Path(), echo, stopping, jobs=1), first)
        preparation.end(first)
    # Permissions are rows that the end of a migration writes.
    ContentType.objects.clear_cache()
    call_command("migrate", interactive=False, verbosity=0)


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
    if tables.is_earlier(manifest.migrations):
        raise OperatorError(
            f"The {manifest.kind} in {folder} was made by a commit before {tables.LAST_COMMIT}: restore it "
            "by that commit, upgrade the database by its `manage.py upgrade`, and back up again."
        )
    if unknown := _unknown_migrations(manifest):
        app, name = unknown[-1]
        raise OperatorError(
            f"The {manifest.kind} in {folder} was made by a newer release ({manifest.release}, with "
            f"the migration {app} {name}): install that release, or a later one."
        )


def _unknown_migrations(manifest: Manifest) -> list[tuple[str, str]]:
    return sorted(tables.without_replaced(manifest.migrations) - tables.on_disk())


# ROWS


def _load(task: Task, first: Session, manifest: Manifest) -> None:
    loaded = preparation.done_files(first)
    with ByteDisplay("Loading", sum(file.bytes for file in manifest.files), task.echo) as display:
        display.add(sum(file.bytes for file in manifest.files if file.name in loaded))
        # Tables that refer to each other are loaded together, in any order of their rows.
        linked = preparation.linked_tables(first)
        if together := [file for file in manifest.files if file.name not in loaded and file.table in linked]:
            with first.transaction():
                for file in together:
                    copy_rows(task, first, manifest, file)
                    preparation.note_file(first, file.name)
                    display.add(file.bytes)

        at_once, one_by_one = _by_table(first, manifest, linked, loaded)

        def load(own: Session, files: list[BackupFile]) -> None:
            is_whole = files[0].table in at_once
            with own.transaction():
                if is_whole:
                    own.execute(f'truncate "{files[0].table}"'.encode())
                for file in files:
                    copy_rows(task, own, manifest, file, frozen=is_whole)
                    preparation.note_file(own, file.name)
            display.add(sum(file.bytes for file in files))

        items = [*([file] for file in one_by_one), *at_once.values()]
        task.run_all(items, load, lambda own: _set(own, _FAST))


def _by_table(
    first: Session, manifest: Manifest, linked: set[str], loaded: set[str]
) -> tuple[dict[str, list[BackupFile]], list[BackupFile]]:
    """Return the files of tables that are loaded at once, the largest table first, and all other files.

    PostgreSQL takes frozen rows only for a table that is not partitioned or distributed, and emptied in the
    same transaction. So tables of which an interrupted run has loaded a file are not among them.
    """
    files: dict[str, list[BackupFile]] = {}
    for file in manifest.files:
        if file.table not in linked:
            files.setdefault(file.table, []).append(file)
    begun = {file.table for file in manifest.files if file.name in loaded}
    plain_tables = set() if is_distributed() else {name for (name,) in first.execute(_PLAIN)} - begun
    bytes_of = {table: sum(file.bytes for file in parts) for table, parts in files.items()}
    small = (table for table in files if table in plain_tables and bytes_of[table] <= _AT_ONCE_BYTES)
    at_once = {table: files.pop(table) for table in sorted(small, key=lambda table: -bytes_of[table])}
    return at_once, [file for parts in files.values() for file in parts if file.name not in loaded]


# INDEXES


def _build_indexes(task: Task, first: Session) -> None:
    missing = preparation.indexes_left(first)
    if missing:
        task.echo(f"All rows are there. Building {sum(map(len, missing))} indexes.")

    # Those of one table are built one after another: their partitions would get the same names otherwise.
    def build(own: Session, indexes: list[tuple[str, str]]) -> None:
        for name, definition in indexes:
            preparation.build_index(own, name, definition)
            task.check_stop()

    task.run_all(missing, build, lambda own: _set(own, _MEMORY, _FAST))


# THE END


def _finish(task: Task, first: Session, manifest: Manifest) -> None:
    names = sorted(manifest.tables)
    for table, column, sequence in first.execute(_SEQUENCES, [names]).fetchall():
        first.execute(
            f"select setval('{sequence}', coalesce(max({column}), 1), max({column}) is not null) from {table}"
        )
    task.echo("Gathering what PostgreSQL plans with.")
    task.run_all(
        names,
        lambda own, table: own.execute(f'vacuum (analyze) "{table}"'.encode()),
        lambda own: _set(own, _MEMORY),
    )
    if manifest.demo:
        manifest.check_content(task.folder, manifest.demo)
        # Noted first: undoing removes what was unpacked, and no other demo network.
        preparation.note_file(first, manifest.demo.name)
        demo.unpack(task.folder)
    preparation.end(first)


def _set(own: Session, *statements: str) -> None:
    for statement in statements:
        with suppress(psycopg.errors.InsufficientPrivilege):
            own.execute(statement.encode())
