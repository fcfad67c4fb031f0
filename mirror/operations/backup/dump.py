"""Writing a backup or a snapshot: all of it as it is at one moment, while the node goes on.

The moment that the first session sees is shared by all others, so files that are written one after another
fit together. It ends with its process. A backup that was killed takes a new one, and writes only those files
again whose rows have changed since: reading which rows those are is much faster than writing them.
"""

import json
import os
import threading
from collections.abc import Callable, Iterator
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
from mirror.core.values.human_readable import byte_size
from mirror.operations.backup import demo
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
    write_whole,
)
from mirror.operations.backup.pieces import Piece, backed_up_tables, partitions_by_time, pieces
from mirror.operations.backup.progress import Display
from mirror.operations.backup.sessions import Session, Stopped, alone, check_room, session, share

# After so long without the locks of all tables, those that it has are given back.
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
_OLDEST = "select pg_snapshot_xmin(pg_current_snapshot())::text"


@dataclass(frozen=True)
class Content:
    """What is kept: tables with their columns, the pieces of these, and what its description says besides.

    `complete` is called after the tables were read, within their moment, and may add files.
    """

    kind: Kind
    tables: Callable[[Session], dict[str, list[str]]]
    pieces: Callable[[Session, dict[str, list[str]]], list[Piece]]
    complete: Callable[[Path, Session, Manifest], Manifest]
    # Whether one moment can be shared by several sessions: not where other machines hold the rows.
    shares_moment: bool = True


def backup(folder: Path, say: Callable[[str], None], stopping: threading.Event, *, jobs: int) -> Manifest:
    """Write a backup into a folder, or go on with one; return its description.

    Errors: OperatorError; Stopped.
    """
    everything = Content(
        BACKUP, backed_up_tables, pieces, lambda folder, first, description: demo.add(folder, description)
    )
    return keep(folder, everything, say, stopping, jobs=jobs)


def keep(
    folder: Path,
    content: Content,
    say: Callable[[str], None],
    stopping: threading.Event,
    *,
    jobs: int,
) -> Manifest:
    """Write what is to be kept into a folder, or go on with that; return its description.

    Errors: OperatorError; Stopped.
    """
    name = content.kind.name
    _make_folder(folder, name)
    with session() as first, alone(first):
        with _one_moment(first, content, say, stopping):
            tables = content.tables(first)
            begun = _begin(folder, first, name, tables, say)
            wanted = content.pieces(first, tables)
            total = sum(piece.bytes for piece in wanted)
            room = _COMPRESSED * total - sum(file.bytes for file in begun.values())
            check_room(folder, room, f"The {name}")
            moment, oldest = _exported(first) if content.shares_moment else ("", 0)
            if begun:
                say(f"Going on with the {name} in {folder}: what has changed since is written again.")
            about = byte_size(_COMPRESSED * total)
            say(f"{byte_size(total)} of tables are read; the {name} will have about {about}.")
            done = _write_all(folder, wanted, begun, moment, oldest, say, stopping, jobs)
            # Within the transaction of the moment no row has come since the tables were read.
            description = content.complete(folder, first, _described(first, name, tables, done))
        for name in begun.keys() - {file.name for file in description.files}:
            (folder / name).unlink(missing_ok=True)
        description.write(folder)
    return description


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


def _begin(
    folder: Path, first: Session, name: str, tables: dict[str, list[str]], say: Callable[[str], None]
) -> dict[str, BackupFile]:
    """Return the finished files of an unfinished folder, or begin a new one. Errors: OperatorError."""
    cluster, database = first.execute(_WHERE).fetchone() or ("", "")
    place = {"cluster": cluster, "database": database, "network": config.value("network")}
    # Rows look unchanged where a column was added or dropped, but their files are of the columns before.
    header = place | {"columns": tables, "migrations": [list(each) for each in _migrations(first)]}
    journal = folder / JOURNAL
    if not journal.exists():
        _note(folder, header)
        return {}
    files: dict[str, BackupFile] = {}
    stored: dict[str, Any] = {}
    for line in journal.read_text().splitlines():
        # A line that was cut short is of a file that does not count.
        with suppress(ValueError, TypeError):
            if stored:
                file = BackupFile(**json.loads(line))
                files[file.name] = file
            else:
                stored = json.loads(line)
    if stored and {each: stored.get(each) for each in place} != place:
        raise OperatorError(
            f"The unfinished {name} in {folder} is of another database: name another folder, or remove it."
        )
    for path in folder.glob("*.part"):
        path.unlink()
    kept = {
        each: file
        for each, file in files.items()
        if (folder / each).is_file() and (folder / each).stat().st_size == file.bytes
    }
    if stored != header:
        if kept:
            say(f"The tables were changed since the {name} in {folder} was begun: it begins anew.")
        kept = {}
    # It may end in half a line.
    write_whole(journal, b"".join(map(_line, [header, *map(asdict, kept.values())])))
    for each in files.keys() - kept.keys():
        (folder / each).unlink(missing_ok=True)
    return kept


def _migrations(first: Session) -> list[tuple[str, str]]:
    """Return the migrations that are applied at this moment."""
    return [(app, name) for app, name in first.execute(_MIGRATIONS)]


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _note(folder: Path, content: dict[str, Any]) -> None:
    journal = folder / JOURNAL
    with os.fdopen(os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
        file.write(_line(content))
        file.flush()
        os.fsync(file.fileno())


# MOMENT


@contextmanager
def _one_moment(
    first: Session, content: Content, say: Callable[[str], None], stopping: threading.Event
) -> Iterator[None]:
    """Hold one moment of all tables for the length of the block, and keep partitions from being dropped.

    Errors: Stopped, while this waits for somebody who changes a table.
    """
    is_said = False
    while not _locked(first, content):
        if not is_said:
            say("Waiting for somebody who changes a table.")
            is_said = True
        if stopping.is_set():
            raise Stopped
    try:
        yield
    finally:
        with suppress(Error):
            first.execute("rollback")


def _locked(first: Session, content: Content) -> bool:
    """Begin the transaction of the moment, and return whether it could lock the tables soon."""
    tables = ", ".join(f'"{table}"' for table in content.tables(first))
    first.execute("begin isolation level repeatable read, read only")
    first.execute(f"set local lock_timeout = {_LOCK_MILLISECONDS}")
    try:
        # The moment is that of the first statement after this.
        first.execute(f"lock table {tables} in access share mode")
    except LockNotAvailable:
        first.execute("rollback")
        return False
    first.execute("set local lock_timeout = 0")
    return True


def _exported(first: Session) -> tuple[str, int]:
    """Return the name of PostgreSQL's snapshot, and the oldest transaction that was running."""
    (name,) = first.execute("select pg_export_snapshot()").fetchone() or ("",)
    (oldest,) = first.execute(_OLDEST).fetchone() or ("0",)
    return name, int(oldest)


# FILES


def _write_all(
    folder: Path,
    wanted: list[Piece],
    begun: dict[str, BackupFile],
    moment: str,
    oldest: int,
    say: Callable[[str], None],
    stopping: threading.Event,
    jobs: int,
) -> list[BackupFile]:
    """Write the files of all pieces, but those that an earlier attempt has and that are unchanged."""
    done: list[BackupFile] = []
    lock = threading.Lock()

    def write(own: Session, piece: Piece) -> None:
        # One transaction for all would keep the locks of every month, and the server has so many only.
        own.execute("begin isolation level repeatable read, read only")
        if moment:
            own.execute(f"set transaction snapshot '{moment}'")
        earlier = begun.get(piece.name)
        if earlier and piece.is_unchanged(own, earlier, oldest):
            file = earlier
        else:
            file = write_rows(folder, own, piece, oldest, stopping)
            with lock:
                _note(folder, asdict(file))
        own.execute("commit")
        with lock:
            done.append(file)
        display.add(piece.bytes)

    with Display(say, "Writing", sum(piece.bytes for piece in wanted)) as display:
        share(wanted, write, lambda own: None, jobs=jobs, stopping=stopping)
    return sorted(done, key=lambda file: (file.table, file.leaf, file.number))


# DESCRIPTION


def _described(first: Session, name: str, tables: dict[str, list[str]], files: list[BackupFile]) -> Manifest:
    row = first.execute(_LAST_BLOCK).fetchone()
    (postgresql, size) = first.execute(
        "select current_setting('server_version'), pg_database_size(current_database())"
    ).fetchone() or ("", 0)
    return Manifest(
        network=config.value("network"),
        release=settings.VERSION,
        made=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        postgresql=postgresql,
        block=Block(*row) if row else None,
        database_bytes=size,
        migrations=_migrations(first),
        tables={
            table: BackupTable(
                columns,
                sum(file.rows for file in files if file.table == table),
                partitions_by_time(first, table),
            )
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
