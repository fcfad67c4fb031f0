"""Writing a backup or a snapshot: all of it as of one PostgreSQL snapshot, while the node goes on.

pg_dump writes the rows of whole tables. Rows that it can't select, such as those of some entities, are copied
beside its archive, within the same PostgreSQL snapshot.
"""

import os
import shutil
import subprocess
import tempfile
import threading
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

from django.conf import settings

from mirror.core import config
from mirror.core.config.database import wheel_folder
from mirror.core.config.setting import OperatorError
from mirror.core.config.settings import SETTINGS
from mirror.core.logs import Echo
from mirror.core.processes.progress import ByteDisplay
from mirror.core.values.human_readable import byte_size
from mirror.operations.backup import demo, files
from mirror.operations.backup.allowed import columns_here
from mirror.operations.backup.manifest import (
    ARCHIVE,
    BACKUP,
    MANIFEST,
    BackupFile,
    BackupTable,
    Block,
    Kind,
    Manifest,
)
from mirror.operations.backup.sessions import Session, Task, check_room, exclusive, session

# The share of a table's bytes that its compressed rows need.
_COMPRESSED = 0.4
_SECONDS_BETWEEN_CHECKS = 0.2
_CONTENTS = f"{ARCHIVE}/toc.dat"
_UNFINISHED = "unfinished-"

# Index: the primary key (consensus_end).
_LAST_BLOCK = "select index, consensus_end, hash from record_file order by consensus_end desc limit 1"
_MIGRATIONS = "select distinct app, name from django_migrations order by 1, 2"
_SERVER = "select current_setting('server_version'), pg_database_size(current_database())"
# The columns of tables, in the order of pg_dump; none of those that the server computes.
_COLUMNS = """
    select relname, array_agg(attname::text order by attnum)
    from pg_class join pg_attribute on attrelid = pg_class.oid
    where relname = any(%s) and pg_table_is_visible(pg_class.oid) and attnum > 0 and not attisdropped
        and attgenerated = ''
    group by relname"""
# Tables and partitions that have rows of their own.
_PARTS = """
    select part.oid::bigint, root.relname, pg_table_size(part.oid),
        quote_ident(part.relnamespace::regnamespace::text) || '.' || quote_ident(part.relname)
    from pg_class part join pg_class root on root.oid = coalesce(pg_partition_root(part.oid), part.oid)
    where part.relkind = 'r' and root.relname = any(%s) and pg_table_is_visible(root.oid)
        and pg_relation_size(part.oid) > 0"""
_TIMES = "select min(consensus_start), max(consensus_end) from record_file having count(*) > 0"


class Query(NamedTuple):
    """Rows that pg_dump does not select: the columns of a table, and what follows them in a statement.

    `bytes`, about as many as the rows have, is for progress alone.
    """

    table: str
    columns: list[str]
    rows: str
    bytes: int

    @property
    def select(self) -> str:
        return f"select {', '.join(self.columns)} {self.rows}"


class Part(NamedTuple):
    """A table, or a partition of one, with the bytes that it has."""

    oid: int
    table: str
    bytes: int
    name: str


@dataclass(frozen=True)
class Content:
    """The content of a folder: the tables of its kind, or some rows of them.

    `queries` returns the tables that are not read whole. `finish` is called within the PostgreSQL snapshot of
    the rows, and may add files to the folder and facts to the manifest.
    """

    kind: Kind
    queries: Callable[[Session, dict[str, list[str]]], list[Query]]
    finish: Callable[[Session, Path, Manifest], Manifest]
    # Whether sessions can share a PostgreSQL snapshot: not where other machines hold the rows.
    shares_snapshot: bool = True


def backup(folder: Path, echo: Echo, stopping: threading.Event, *, jobs: int) -> Manifest:
    """Write a backup; return its manifest. Errors: OperatorError; Stopped."""
    content = Content(BACKUP, lambda *_: [], lambda own, unfinished, manifest: demo.add(unfinished, manifest))
    return write(Task(folder, echo, stopping, jobs), content)


def write(task: Task, content: Content) -> Manifest:
    """Write the content into a new folder; return its manifest. Errors: OperatorError; Stopped."""
    folder, name = task.folder, content.kind.name
    with session() as first, exclusive(first):
        _make_folder(folder, name)
        working = replace(task, folder=Path(tempfile.mkdtemp(prefix=_UNFINISHED, dir=folder)))
        try:
            with first.transaction():
                first.execute("set transaction isolation level repeatable read, read only")
                written = _write_files(working, first, content)
                # Within the PostgreSQL snapshot, so all figures are of the same time as the files.
                manifest = content.finish(first, working.folder, _manifest(first, content.kind, *written))
            for path in working.folder.iterdir():
                path.rename(folder / path.name)
        finally:
            shutil.rmtree(working.folder, ignore_errors=True)
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
    if any(not each.startswith(_UNFINISHED) for each in present):
        raise OperatorError(f"The folder {folder} has other files: name an empty or new one.")
    for each in present:
        shutil.rmtree(folder / each)
    # Passwords of the admin are in it, though only as digests.
    folder.chmod(0o700)


# FILES


def _write_files(
    task: Task, first: Session, content: Content
) -> tuple[dict[str, list[str]], list[BackupFile], BackupFile | None]:
    """Return the tables with their columns, the files of rows, and the contents of the archive."""
    known = columns_here(content.kind)
    present: dict[str, list[str]] = dict(first.execute(_COLUMNS, [[*known]]).fetchall())
    tables = {name: [each for each in columns if each in known[name]] for name, columns in present.items()}
    queries = content.queries(first, tables)
    # pg_dump reads all columns of a table. Those of another program are left out.
    parts = [Part(*row) for row in first.execute(_PARTS, [[*tables]])]
    some = {name for name, columns in present.items() if columns != tables[name]}
    for name in sorted(some - {query.table for query in queries}):
        size = sum(part.bytes for part in parts if part.table == name)
        queries.append(Query(name, [f'"{each}"' for each in tables[name]], f'from "{name}"', size))
    selected = {query.table for query in queries}
    whole = [part for part in parts if part.table not in selected]
    total = sum(part.bytes for part in whole) + sum(query.bytes for query in queries)
    check_room(task.folder, _COMPRESSED * total, f"The {content.kind.name}")
    task.echo(f"{byte_size(total)} of tables are read.")
    snapshot = ""
    if content.shares_snapshot:
        (snapshot,) = first.execute("select pg_export_snapshot()").fetchone() or ("",)
    names = _dump(task, first, whole, snapshot) if whole else {}
    names |= _copy(task, queries, snapshot)
    with ThreadPoolExecutor(task.jobs) as pool:
        written = list(pool.map(lambda name: files.described(task, name, names[name]), sorted(names)))
    return tables, written, files.described(task, _CONTENTS, "") if whole else None


def _dump(task: Task, first: Session, parts: list[Part], snapshot: str) -> dict[str, str]:
    """Have pg_dump write the parts; return the table of each file. Errors: OperatorError; Stopped."""
    folder, programs = task.folder / ARCHIVE, _programs(first)
    command = [
        str(programs / "pg_dump"), "--data-only", "--format=directory", f"--compress={files.LEVEL}",
        "--no-password",
        f"--jobs={task.jobs}", f"--snapshot={snapshot}", f"--file={folder}", f"--dbname={first.info.dsn}",
        *(f"--table={part.name}" for part in parts),
    ]  # fmt: skip
    # A connection that is encrypted here is encrypted there, too.
    mode = {"PGSSLMODE": "require"} if first.pgconn.ssl_in_use else {}
    environment = mode | os.environ | {"PGPASSWORD": first.info.password}
    expected = round(_COMPRESSED * sum(part.bytes for part in parts))
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(command, stderr=errors, env=environment, umask=0o077) as process,
        ByteDisplay("Writing", expected, task.echo) as display,
    ):
        written = 0
        try:
            while process.poll() is None:
                task.stopping.wait(_SECONDS_BETWEEN_CHECKS)
                task.check_stop()
                before, written = written, sum(each.stat().st_size for each in folder.glob("*.gz"))
                display.add(written - before)
        finally:
            process.terminate()
        if process.returncode:
            task.check_stop()
            errors.seek(0)
            raise OperatorError(f"pg_dump has failed: {errors.read().strip()}")
    listed = subprocess.run([programs / "pg_restore", "--list", folder], capture_output=True, check=True)
    table_of = {part.oid: part.table for part in parts}
    entries = [line.split() for line in listed.stdout.decode().splitlines() if " TABLE DATA " in line]
    # Such as: "3541; 0 16521 TABLE DATA public entity postgres".
    return {f"{ARCHIVE}/{entry[0].rstrip(';')}.dat.gz": table_of[int(entry[2])] for entry in entries}


def _programs(first: Session) -> Path:
    """Return the folder of a pg_dump that can read this database. Errors: OperatorError."""
    wheel, named = wheel_folder(), config.value("db.programs")
    if wheel and not named and not first.pgconn.ssl_in_use:
        program: Path | None = wheel / "pginstall" / "bin" / "pg_dump"
    else:
        # That of the package can't encrypt a connection.
        found = shutil.which("pg_dump", path=named or None)
        program = Path(found) if found else None
    needed = first.info.server_version // 10_000
    if program:
        version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout
        if int(version.split()[2].partition(".")[0]) >= needed:
            return program.parent
        missing = f"{program} is of an older version"
    else:
        missing = f"there is no pg_dump in {named or 'PATH'}"
    raise OperatorError(
        f"The database is of PostgreSQL {needed}, and {missing}: install the client programs of PostgreSQL "
        f"{needed} or later, and name their folder in {config.lookup('db.programs').variable}."
    )


def _copy(task: Task, queries: list[Query], snapshot: str) -> dict[str, str]:
    """Write the rows of queries; return the table of each file. Errors: Stopped."""
    names = {f"{query.table}-{number:05}.gz": query for number, query in enumerate(queries)}

    def write(own: Session, name: str) -> None:
        with own.transaction():
            own.execute("set transaction isolation level repeatable read, read only")
            if snapshot:
                own.execute(f"set transaction snapshot '{snapshot}'".encode())
            files.write_rows(task, own, task.folder / name, names[name].select)
        display.add(names[name].bytes)

    if queries:
        with ByteDisplay("Copying", sum(query.bytes for query in queries), task.echo) as display:
            task.run_all(names, write)
    return {name: query.table for name, query in names.items()}


# MANIFEST


def _manifest(
    first: Session,
    kind: Kind,
    tables: dict[str, list[str]],
    written: list[BackupFile],
    contents: BackupFile | None,
) -> Manifest:
    block = first.execute(_LAST_BLOCK).fetchone()
    times = first.execute(_TIMES).fetchone()
    postgresql, size = first.execute(_SERVER).fetchone() or ("", 0)
    rows = Counter[str]()
    for file in written:
        rows[file.table] += file.rows
    return Manifest(
        network=config.value("network"),
        release=settings.VERSION,
        made=f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}",
        postgresql=postgresql,
        block=Block(*block) if block else None,
        database_bytes=size,
        migrations=[(app, name) for app, name in first.execute(_MIGRATIONS)],
        tables={table: BackupTable(columns, rows[table]) for table, columns in tables.items()},
        files=written,
        settings=settings_in_force(),
        contents=contents,
        kind=kind.name,
        times=times,
    )


def settings_in_force() -> dict[str, str]:
    """Return the settings that differ from their defaults, without secrets."""
    values, defaults = config.values(), config.load({})
    return {
        setting.name: str(values[setting.name])
        for setting in SETTINGS
        if not setting.secret and values[setting.name] != defaults[setting.name]
    }
