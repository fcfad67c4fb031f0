"""Bringing a backup or a snapshot back into an empty database, and going on with that after an interruption.

A schema of its own says which files and indexes are done, in the same transaction as their rows. It is there
until everything is: a node does not start on a database that has only a part.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import psycopg
from django.conf import settings
from django.contrib.contenttypes.models import ContentType
from django.core.management import call_command

from ledger.ingest import stored_network
from mirror.core import config
from mirror.core.config.errors import OperatorError
from mirror.core.values.human_readable import byte_size
from mirror.models import LOADER_LOCK, UPGRADE_LOCK
from mirror.node.start import tables
from mirror.operations.backup import demo, preparation
from mirror.operations.backup.files import copy_rows
from mirror.operations.backup.manifest import BACKUP, DEMO, BackupFile, Kind, Manifest
from mirror.operations.backup.pieces import backed_up_tables
from mirror.operations.backup.progress import Display
from mirror.operations.backup.sessions import Session, Stopped, alone, check_room, session, share

# A table whose files have no more bytes is loaded in one transaction. That saves the log of PostgreSQL and a
# vacuum, but an interruption loses it.
_AT_ONCE_BYTES = 512 << 20
_MEMORY = "set maintenance_work_mem = '256MB'"
# A crash that loses the end of what was committed loses rows together with the note that they are there.
_FAST = "set synchronous_commit = off"
_SEQUENCES = """
    select quote_ident(relname), quote_ident(attname), pg_get_serial_sequence(quote_ident(relname), attname)
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relname = any(%s) and pg_table_is_visible(pg_class.oid) and attnum > 0 and not attisdropped
        and pg_get_serial_sequence(quote_ident(relname), attname) is not null"""


def check(
    folder: Path, say: Callable[[str], None], stopping: threading.Event, *, jobs: int, kind: Kind = BACKUP
) -> Manifest:
    """Read every file and compare it with what was written. Errors: DamagedBackup; Stopped."""
    from concurrent.futures import ThreadPoolExecutor, as_completed

    description = Manifest.read(folder, kind)
    description.check_sizes(folder)
    with Display(say, "Checking", description.bytes) as display, ThreadPoolExecutor(jobs) as pool:
        running = {
            pool.submit(description.check_content, folder, file): file for file in description.all_files
        }
        try:
            for each in as_completed(running):
                each.result()
                display.add(running[each].bytes)
                if stopping.is_set():
                    raise Stopped
        finally:
            pool.shutdown(wait=False, cancel_futures=True)
    return description


def restore(
    folder: Path, say: Callable[[str], None], stopping: threading.Event, *, jobs: int, kind: Kind = BACKUP
) -> Manifest:
    """Bring it back, or go on with that; return its description. Errors: OperatorError; Stopped."""
    description = Manifest.read(folder, kind)
    _check_fits(folder, description)
    description.check_sizes(folder)
    with session() as first, alone(first), _without_loader(first):
        if not preparation.goes_on(first, description):
            if not config.value("db.url"):
                check_room(settings.DATA_DIR, description.database_bytes, "The database")
            if description.demo:
                demo.check_absent()
            preparation.check_empty(first, description)
        preparation.prepare(first, description, say)
        say(f"{description.rows:,} rows of {byte_size(description.bytes)} are loaded.")
        _load(folder, first, description, say, stopping, jobs)
        _build_indexes(first, say, stopping, jobs)
        _finish(folder, first, description, say, stopping, jobs)
        tables.make_tables(say)
        stored_network.check()
    return description


def undo(say: Callable[[str], None], stopping: threading.Event) -> None:
    """Empty a database into which a restore has not ended. Errors: OperatorError; Stopped."""
    with session() as first, alone(first), _without_loader(first):
        if not tables.is_restoring():
            raise OperatorError("No restore is unfinished in this database: there is nothing to undo.")
        if DEMO in preparation.done_files(first):
            demo.remove()
        # A restore that goes on after an interruption of this one loads everything again.
        preparation.forget_files(first)
        preparation.empty(first, backed_up_tables(first))
        _build_indexes(first, say, stopping, jobs=1)
        preparation.end(first)
    # Permissions are rows that the end of a migration writes.
    ContentType.objects.clear_cache()
    call_command("migrate", interactive=False, verbosity=0)


@contextmanager
def _without_loader(first: Session) -> Iterator[None]:
    """Keep loaders and upgrades out of the database. Errors: OperatorError if one is at work.

    Those that come later wait, or are refused: they ask for the same locks.
    """
    for lock in (LOADER_LOCK, UPGRADE_LOCK):
        if first.execute("select pg_try_advisory_lock(%s)", [lock]).fetchone() != (True,):
            raise OperatorError("A node loads into this database, or upgrades it: stop the node first.")
    # The locks end with the session.
    yield


def _check_fits(folder: Path, description: Manifest) -> None:
    """Raise OperatorError if this node is of another network, or of an older release."""
    if description.network != config.value("network"):
        raise OperatorError(
            f"The {description.kind} in {folder} is of the network {description.network}, and "
            f"{config.described('network').variable} is {config.value('network')}: set it to "
            f"{description.network}."
        )
    if unknown := sorted(set(description.migrations) - tables.on_disk()):
        app, name = unknown[-1]
        raise OperatorError(
            f"The {description.kind} in {folder} was made by a newer release ({description.release}, with "
            f"the migration {app} {name}): install that release, or a later one."
        )


# ROWS


def _load(
    folder: Path,
    first: Session,
    description: Manifest,
    say: Callable[[str], None],
    stopping: threading.Event,
    jobs: int,
) -> None:
    done = preparation.done_files(first)
    left = [file for file in description.files if file.name not in done]
    with Display(say, "Loading", sum(file.bytes for file in description.files)) as display:
        display.add(sum(file.bytes for file in description.files if file.name in done))
        # Tables that refer to each other come together, and the order of their rows does not matter then.
        linked = preparation.linked_tables(first)
        if together := [file for file in left if file.table in linked]:
            with first.transaction():
                for file in together:
                    copy_rows(folder, first, description, file, stopping)
                    preparation.note_file(first, file.name)
                    display.add(file.bytes)

        at_once, one_by_one = _by_table(first, description, linked, done)

        def load(own: Session, files: list[BackupFile]) -> None:
            is_whole = files[0].table in at_once
            with own.transaction():
                if is_whole:
                    own.execute(f'truncate "{files[0].table}"'.encode())
                for file in files:
                    copy_rows(folder, own, description, file, stopping, frozen=is_whole)
                    preparation.note_file(own, file.name)
            display.add(sum(file.bytes for file in files))

        items = [*([file] for file in one_by_one), *at_once.values()]
        share(items, load, lambda own: _execute(own, _FAST), jobs=jobs, stopping=stopping)


def _by_table(
    first: Session, description: Manifest, linked: set[str], done: set[str]
) -> tuple[dict[str, list[BackupFile]], list[BackupFile]]:
    """Return the files of tables that are loaded at once, the largest table first, and all other files.

    PostgreSQL takes frozen rows only for a table that is neither divided nor distributed, and emptied in the
    same transaction. So tables of which an interrupted run has loaded a file are not among them.
    """
    files: dict[str, list[BackupFile]] = {}
    for file in description.files:
        if file.table not in linked:
            files.setdefault(file.table, []).append(file)
    bytes_of = {table: sum(file.bytes for file in parts) for table, parts in files.items()}
    plain = preparation.plain_tables(first)
    at_once = {
        table: files[table]
        for table in sorted(files, key=lambda each: -bytes_of[each])
        if table in plain
        and bytes_of[table] <= _AT_ONCE_BYTES
        and not any(file.name in done for file in files[table])
    }
    others = [
        file
        for table, parts in files.items()
        if table not in at_once
        for file in parts
        if file.name not in done
    ]
    return at_once, others


# INDEXES


def _build_indexes(first: Session, say: Callable[[str], None], stopping: threading.Event, jobs: int) -> None:
    left = preparation.indexes_left(first)
    if left:
        say(f"All rows are there. Building {sum(map(len, left))} indexes.")

    # Those of one table come one after another: their partitions would get the same names otherwise.
    def build(own: Session, indexes: list[tuple[str, str]]) -> None:
        for name, definition in indexes:
            preparation.build_index(own, name, definition)
            if stopping.is_set():
                raise Stopped

    def begin(own: Session) -> None:
        own.execute(_MEMORY)
        own.execute(_FAST)

    share(left, build, begin, jobs=jobs, stopping=stopping)


# THE END


def _finish(
    folder: Path,
    first: Session,
    description: Manifest,
    say: Callable[[str], None],
    stopping: threading.Event,
    jobs: int,
) -> None:
    names = sorted(description.tables)
    for table, column, sequence in first.execute(_SEQUENCES, [names]).fetchall():
        first.execute(
            f"select setval('{sequence}', coalesce(max({column}), 1), max({column}) is not null) from {table}"
        )
    say("Gathering what PostgreSQL plans with.")

    def analyze(own: Session, table: str) -> None:
        own.execute(f'vacuum (analyze) "{table}"')

    share(names, analyze, lambda own: _execute(own, _MEMORY), jobs=jobs, stopping=stopping)
    if description.demo:
        description.check_content(folder, description.demo)
        # Noted first: undoing removes what was unpacked, and no other demo network.
        preparation.note_file(first, description.demo.name)
        demo.bring_back(folder)
    preparation.end(first)


def _execute(own: Session, statement: str) -> None:
    with suppress(psycopg.errors.InsufficientPrivilege):
        own.execute(statement.encode())
