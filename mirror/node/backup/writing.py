"""Writing a backup: everything as it is at one moment, while the node goes on.

A snapshot of the first session is shared by all others, so files that are written one after another fit
together. It ends with its process. A backup that was killed takes a new one, and writes only those files
again whose rows have changed since: reading which rows those are is much faster than writing them.
"""

import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import zstandard
from psycopg import Error
from psycopg.errors import LockNotAvailable

from mirror import config
from mirror.config.errors import OperatorError
from mirror.config.settings import SETTINGS
from mirror.node import inventory
from mirror.node.backup import demo
from mirror.node.backup.display import Display
from mirror.node.backup.manifest import (
    JOURNAL,
    MANIFEST,
    Block,
    KeptFile,
    KeptTable,
    Manifest,
    sync,
    write_whole,
)
from mirror.node.backup.pieces import Piece, kept_tables, partitions_by_time, pieces
from mirror.node.backup.work import Session, Stopped, alone, check_room, session, share
from mirror.values.readable import byte_size

# Where the processor is the limit, a higher level costs more than it saves.
_LEVEL = 1
_BUFFER_BYTES = 1 << 18
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


def backup(folder: Path, say: Callable[[str], None], stopping: threading.Event, *, jobs: int) -> Manifest:
    """Write a backup into a folder, or go on with one; return its description.

    Errors: OperatorError; Stopped.
    """
    _make_folder(folder)
    with session() as first, alone(first):
        with _snapshot(first, say, stopping):
            tables = kept_tables(first)
            begun = _begin(folder, first, tables, say)
            wanted = pieces(first, tables)
            total = sum(piece.bytes for piece in wanted)
            check_room(folder, _COMPRESSED * total - sum(file.bytes for file in begun.values()), "The backup")
            snapshot, oldest = _exported(first)
            if begun:
                say(f"Going on with the backup in {folder}: what has changed since is written again.")
            about = byte_size(_COMPRESSED * total)
            say(f"{byte_size(total)} of tables are read; the backup will have about {about}.")
            done = _write_all(folder, wanted, begun, snapshot, oldest, say, stopping, jobs)
            description = _described(first, tables, done)
        description = demo.add(folder, description)
        for name in begun.keys() - {file.name for file in description.files}:
            (folder / name).unlink(missing_ok=True)
        description.write(folder)
    return description


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        present = {path.name for path in folder.iterdir()}
    except OSError as error:
        raise OperatorError(f"The folder {folder} can't be used: {error.strerror}.") from error
    if MANIFEST in present:
        raise OperatorError(f"There is a complete backup in {folder} already: name another folder.")
    if present and JOURNAL not in present:
        raise OperatorError(f"The folder {folder} has other files: name an empty or new one.")
    # Passwords of the admin are in it, though only as digests.
    folder.chmod(0o700)


# UNFINISHED BACKUPS


def _begin(
    folder: Path, first: Session, tables: dict[str, list[str]], say: Callable[[str], None]
) -> dict[str, KeptFile]:
    """Return the finished files of an unfinished backup, or begin a new one. Errors: OperatorError."""
    cluster, database = first.execute(_WHERE).fetchone() or ("", "")
    place = {"cluster": cluster, "database": database, "network": config.value("network")}
    # Rows look unchanged where a column was added or dropped, but their files are of the columns before.
    header = place | {"columns": tables, "migrations": [list(each) for each in _migrations(first)]}
    journal = folder / JOURNAL
    if not journal.exists():
        _note(folder, header)
        return {}
    files: dict[str, KeptFile] = {}
    stored: dict[str, Any] = {}
    for line in journal.read_text().splitlines():
        # A line that was cut short is of a file that does not count.
        with suppress(ValueError, TypeError):
            if stored:
                file = KeptFile(**json.loads(line))
                files[file.name] = file
            else:
                stored = json.loads(line)
    if stored and {name: stored.get(name) for name in place} != place:
        raise OperatorError(
            f"The unfinished backup in {folder} is of another database: name another folder, or remove it."
        )
    for path in folder.glob("*.part"):
        path.unlink()
    kept = {
        name: file
        for name, file in files.items()
        if (folder / name).is_file() and (folder / name).stat().st_size == file.bytes
    }
    if stored != header:
        if kept:
            say(f"The tables were changed since the backup in {folder} was begun: it begins anew.")
        kept = {}
    # It may end in half a line.
    write_whole(journal, b"".join(map(_line, [header, *map(asdict, kept.values())])))
    for name in files.keys() - kept.keys():
        (folder / name).unlink(missing_ok=True)
    return kept


def _migrations(first: Session) -> list[tuple[str, str]]:
    """Return the migrations that were applied at the moment of the backup."""
    return [(app, name) for app, name in first.execute(_MIGRATIONS)]


def _line(content: dict[str, Any]) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _note(folder: Path, content: dict[str, Any]) -> None:
    journal = folder / JOURNAL
    with os.fdopen(os.open(journal, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600), "ab") as file:
        file.write(_line(content))
        file.flush()
        os.fsync(file.fileno())


# SNAPSHOT


@contextmanager
def _snapshot(first: Session, say: Callable[[str], None], stopping: threading.Event) -> Iterator[None]:
    """Hold one moment of all tables for the length of the block, and keep partitions from being dropped.

    Errors: Stopped, while this waits for somebody who changes a table.
    """
    is_said = False
    while not _locked(first):
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


def _locked(first: Session) -> bool:
    """Begin the transaction of the snapshot, and return whether it could lock the tables soon."""
    tables = ", ".join(f'"{table}"' for table in kept_tables(first))
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
    """Return the name of the snapshot, and the oldest transaction that was running."""
    (name,) = first.execute("select pg_export_snapshot()").fetchone() or ("",)
    (oldest,) = first.execute(_OLDEST).fetchone() or ("0",)
    return name, int(oldest)


# FILES


def _write_all(
    folder: Path,
    wanted: list[Piece],
    begun: dict[str, KeptFile],
    snapshot: str,
    oldest: int,
    say: Callable[[str], None],
    stopping: threading.Event,
    jobs: int,
) -> list[KeptFile]:
    """Write the files of all pieces, but those that an earlier attempt has and that are unchanged."""
    done: list[KeptFile] = []
    lock = threading.Lock()

    def write(own: Session, piece: Piece) -> None:
        # One transaction for all would keep the locks of every month, and the server has so many only.
        own.execute("begin isolation level repeatable read, read only")
        own.execute(f"set transaction snapshot '{snapshot}'")
        earlier = begun.get(piece.name)
        if earlier and piece.is_unchanged(own, earlier, oldest):
            file = earlier
        else:
            file = _write(folder, own, piece, oldest, stopping)
            with lock:
                _note(folder, asdict(file))
        own.execute("commit")
        with lock:
            done.append(file)
        display.add(piece.bytes)

    with Display(say, "Backing up", sum(piece.bytes for piece in wanted)) as display:
        share(wanted, write, lambda own: None, jobs=jobs, stopping=stopping)
    return sorted(done, key=lambda file: (file.table, file.leaf, file.number))


def _write(folder: Path, own: Session, piece: Piece, oldest: int, stopping: threading.Event) -> KeptFile:
    path = folder / piece.name
    unfinished = path.with_name(f"{path.name}.part")
    compressor, digest = zstandard.ZstdCompressor(level=_LEVEL).compressobj(), hashlib.sha256()
    size = 0
    with os.fdopen(os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:

        def put(data: bytes) -> None:
            nonlocal size
            digest.update(data)
            file.write(data)
            size += len(data)

        rows: list[bytes | bytearray | memoryview] = []
        gathered = 0
        with own.cursor() as cursor:
            with cursor.copy(f"copy ({piece.select}) to stdout") as copy:
                for row in copy:
                    rows.append(row)
                    gathered += len(row)
                    if gathered > _BUFFER_BYTES:
                        put(compressor.compress(b"".join(rows)))
                        rows.clear()
                        gathered = 0
                        if stopping.is_set():
                            raise Stopped
            put(compressor.compress(b"".join(rows)))
            put(compressor.flush())
            count = cursor.rowcount
        file.flush()
        os.fsync(file.fileno())
    unfinished.replace(path)
    sync(folder)
    return KeptFile(
        path.name,
        piece.table,
        count,
        size,
        digest.hexdigest(),
        piece.leaf,
        piece.number,
        piece.filenode,
        oldest,
    )


# DESCRIPTION


def _described(first: Session, tables: dict[str, list[str]], files: list[KeptFile]) -> Manifest:
    row = first.execute(_LAST_BLOCK).fetchone()
    (postgresql, size) = first.execute(
        "select current_setting('server_version'), pg_database_size(current_database())"
    ).fetchone() or ("", 0)
    return Manifest(
        network=config.value("network"),
        release=inventory.version(),
        made=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        postgresql=postgresql,
        block=Block(*row) if row else None,
        database_bytes=size,
        migrations=_migrations(first),
        tables={
            table: KeptTable(
                columns,
                sum(file.rows for file in files if file.table == table),
                partitions_by_time(first, table),
            )
            for table, columns in tables.items()
        },
        files=files,
        settings=settings_in_force(),
    )


def settings_in_force() -> dict[str, str]:
    """Return the settings that differ from their defaults, without secrets."""
    values, defaults = config.values(), config.load({})
    return {
        setting.name: str(values[setting.name])
        for setting in SETTINGS
        if not setting.secret and values[setting.name] != defaults[setting.name]
    }
