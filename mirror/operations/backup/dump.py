"""Writing a backup or a snapshot: all of it as of one PostgreSQL snapshot, while the node goes on.

All sessions share the PostgreSQL snapshot of the first one, so files that are written one after another are
consistent. It ends with its process. A backup that was killed takes a new one, and rewrites only those files
whose rows have changed since: reading which rows those are is much faster than writing them.
"""

import json
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from django.conf import settings
from psycopg import Error
from psycopg.errors import LockNotAvailable

from mirror.core import config
from mirror.core.config.errors import OperatorError
from mirror.core.config.settings import SETTINGS
from mirror.core.logs import Echo
from mirror.core.processes.atomic_files import write_atomic
from mirror.core.processes.progress import ByteDisplay
from mirror.core.values.human_readable import byte_size
from mirror.operations.backup import demo
from mirror.operations.backup.chunks import Chunk, backed_up_tables, chunks, partitions_by_time
from mirror.operations.backup.files import write_rows
from mirror.operations.backup.manifest import (
    BACKUP,
    JOURNAL,
    MANIFEST,
    BackupFile,
    BackupTable,
    Block,
    Kind,
    Manifest,
)
from mirror.operations.backup.sessions import Session, Task, check_room, exclusive, session

# Without the locks of all tables after so long, the others are released.
_LOCK_MILLISECONDS = 500
# The share of a table's bytes that its compressed rows need.
_COMPRESSED = 0.4

_WHERE = """
    select system_identifier::text,
        (select oid::text from pg_database where datname = current_database())
    from pg_control_system()"""
# Index: the primary key (consensus_end).
_LAST_BLOCK = "select index, consensus_end, hash from record_file order by consensus_end desc limit 1"
_MIGRATIONS = "select distinct app, name from django_migrations order by 1, 2"
_SERVER = "select current_setting('server_version'), pg_database_size(current_database())"
_SNAPSHOT = "select pg_export_snapshot(), pg_snapshot_xmin(pg_current_snapshot())::text::bigint"


@dataclass(frozen=True)
class Content:
    """The content of a folder: tables with their columns, and the pieces of these.

    `finish` is called after the tables were read, within their PostgreSQL snapshot, and may add files and
    facts to the manifest.
    """

    kind: Kind
    tables: Callable[[Session], dict[str, list[str]]]
    chunks: Callable[[Session, dict[str, list[str]]], list[Chunk]]
    finish: Callable[[Session, Manifest], Manifest]
    # Whether sessions can share a PostgreSQL snapshot: not where other machines hold the rows.
    shares_snapshot: bool = True


def backup(folder: Path, echo: Echo, stopping: threading.Event, *, jobs: int) -> Manifest:
    """Write a backup, or resume one; return its manifest. Errors: OperatorError; Stopped."""
    content = Content(BACKUP, backed_up_tables, chunks, lambda _, manifest: demo.add(folder, manifest))
    return write(Task(folder, echo, stopping, jobs), content)


def write(task: Task, content: Content) -> Manifest:
    """Write the content into a folder, or resume that; return its manifest.

    Errors: OperatorError; Stopped.
    """
    folder, name = task.folder, content.kind.name
    _make_folder(folder, name)
    with session() as first, exclusive(first):
        with _consistent(task, first, content):
            tables = content.tables(first)
            begun = _begin(task, first, name, tables)
            needed = content.chunks(first, tables)
            total = sum(chunk.bytes for chunk in needed)
            expected = _COMPRESSED * total
            check_room(folder, expected - sum(file.bytes for file in begun.values()), f"The {name}")
            snapshot = first.execute(_SNAPSHOT).fetchone() if content.shares_snapshot else None
            if begun:
                task.echo(f"Going on with the {name} in {folder}: what has changed since is written again.")
            task.echo(
                f"{byte_size(total)} of tables are read; the {name} will have about {byte_size(expected)}."
            )
            done = _write_files(task, needed, begun, snapshot or ("", 0))
            # Still within the PostgreSQL snapshot, so all figures are of the same time as the files.
            manifest = content.finish(first, _manifest(first, name, tables, done))
        for stale in begun.keys() - {file.name for file in manifest.files}:
            (folder / stale).unlink(missing_ok=True)
        manifest.write(folder)
    return manifest


def _make_folder(folder: Path, name: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        present = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise OperatorError(f"The folder {folder} can't be used: {error.strerror}.") from error
    if MANIFEST in present:
        raise OperatorError(f"There is a complete {name} in {folder} already: name another folder.")
    if present and JOURNAL not in present:
        raise OperatorError(f"The folder {folder} has other files: name an empty or new one.")
    # Passwords of the admin are in it, though only as digests.
    folder.chmod(0o700)


# UNFINISHED BACKUPS


def _begin(task: Task, first: Session, name: str, tables: dict[str, list[str]]) -> dict[str, BackupFile]:
    """Return the finished files of an unfinished folder, or begin a new one. Errors: OperatorError."""
    folder = task.folder
    cluster, database = first.execute(_WHERE).fetchone() or ("", "")
    origin = {"cluster": cluster, "database": database, "network": config.value("network")}
    # Rows look unchanged where a column was added or dropped, but their files are of the columns before.
    header = origin | {"columns": tables, "migrations": [list(each) for each in _migrations(first)]}
    journal = folder / JOURNAL
    if not journal.exists():
        _note(folder, header)
        return {}
    files: dict[str, BackupFile] = {}
    stored: dict[str, Any] = {}
    for line in journal.read_text().splitlines():
        # A line that was cut short is of a file that does not count.
        with suppress(ValueError, TypeError):
            content = json.loads(line)
            if stored:
                files[content["name"]] = BackupFile(**content)
            stored = stored or content
    if stored and {each: stored.get(each) for each in origin} != origin:
        raise OperatorError(
            f"The unfinished {name} in {folder} is of another database: name another folder, or remove it."
        )
    for path in folder.glob("*.part"):
        path.unlink()
    usable = {each: file for each, file in files.items() if file.is_in(folder)}
    if stored != header:
        if usable:
            task.echo(f"The tables were changed since the {name} in {folder} was begun: it begins anew.")
        usable = {}
    # It may end in half a line.
    write_atomic(journal, b"".join(map(_line, [header, *map(asdict, usable.values())])))
    for each in files.keys() - usable.keys():
        (folder / each).unlink(missing_ok=True)
    return usable


def _migrations(first: Session) -> list[tuple[str, str]]:
    return [(app, name) for app, name in first.execute(_MIGRATIONS)]


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _note(folder: Path, content: dict[str, Any]) -> None:
    """Add a line to the journal, and wait until it is on the disk."""
    descriptor = os.open(folder / JOURNAL, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    with os.fdopen(descriptor, "ab") as file:
        file.write(_line(content))
        file.flush()
        os.fsync(descriptor)


# CONSISTENCY


@contextmanager
def _consistent(task: Task, first: Session, content: Content) -> Iterator[None]:
    """Hold a PostgreSQL snapshot and locks of all tables for the block, so that no partition is dropped.

    Errors: Stopped, while this waits for a session that changes a table.
    """
    is_said = False
    while not _locked(first, content):
        if not is_said:
            task.echo("Waiting for a session that changes a table.")
            is_said = True
        task.check_stop()
    try:
        yield
    finally:
        with suppress(Error):
            first.execute("rollback")


def _locked(first: Session, content: Content) -> bool:
    """Begin the transaction of the snapshot, and return whether it could lock the tables soon."""
    tables = ", ".join(f'"{table}"' for table in content.tables(first))
    first.execute("begin isolation level repeatable read, read only")
    first.execute(f"set local lock_timeout = {_LOCK_MILLISECONDS}")
    try:
        # The snapshot is that of the first statement after this.
        first.execute(f"lock table {tables} in access share mode")
    except LockNotAvailable:
        first.execute("rollback")
        return False
    first.execute("set local lock_timeout = 0")
    return True


# FILES


def _write_files(
    task: Task, needed: list[Chunk], begun: dict[str, BackupFile], snapshot: Sequence[Any]
) -> list[BackupFile]:
    """Write the files of all pieces, except unchanged ones of an earlier attempt.

    `snapshot` is the name of a PostgreSQL snapshot, empty if it is not shared, and its oldest transaction.
    """
    name, oldest = snapshot
    done: list[BackupFile] = []
    lock = threading.Lock()

    def write(own: Session, chunk: Chunk) -> None:
        # One transaction for all would hold the locks of every month, and the server has a limited number.
        own.execute("begin isolation level repeatable read, read only")
        if name:
            own.execute(f"set transaction snapshot '{name}'")
        earlier = begun.get(chunk.name)
        file = earlier if earlier and chunk.is_unchanged(own, earlier, oldest) else None
        file = file or write_rows(task, own, chunk, oldest)
        own.execute("commit")
        with lock:
            if file is not earlier:
                _note(task.folder, asdict(file))
            done.append(file)
        display.add(chunk.bytes)

    with ByteDisplay("Writing", sum(chunk.bytes for chunk in needed), task.echo) as display:
        task.run_all(needed, write)
    return sorted(done, key=lambda file: (file.table, file.leaf, file.number))


# MANIFEST


def _manifest(first: Session, name: str, tables: dict[str, list[str]], files: list[BackupFile]) -> Manifest:
    block = first.execute(_LAST_BLOCK).fetchone()
    postgresql, size = first.execute(_SERVER).fetchone() or ("", 0)
    rows = Counter[str]()
    for file in files:
        rows[file.table] += file.rows
    return Manifest(
        network=config.value("network"),
        release=settings.VERSION,
        made=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        postgresql=postgresql,
        block=Block(*block) if block else None,
        database_bytes=size,
        migrations=_migrations(first),
        tables={
            table: BackupTable(columns, rows[table], partitions_by_time(first, table))
            for table, columns in tables.items()
        },
        files=files,
        settings=settings_in_force(),
        kind=name,
    )


def settings_in_force() -> dict[str, str]:
    """Return the settings that differ from their defaults, without secrets."""
    values, defaults = config.values(), config.load({})
    return {
        setting.name: str(values[setting.name])
        for setting in SETTINGS
        if not setting.secret and values[setting.name] != defaults[setting.name]
    }
