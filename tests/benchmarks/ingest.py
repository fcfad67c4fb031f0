"""The speed of loading a composed stream: `python -m tests.benchmarks.ingest [transfers|mixed]`.

Composes the stream in a temporary folder, starts an embedded PostgreSQL of its own with the node's settings,
migrates, and times `manage.py ingest` as a whole process: decoding, rows, COPY, indexes and commit.

Two reference loads follow, each with one core's work that no loader can do without: parsing the messages of
the same stream, and binary COPY of the same rows, made ready beforehand, into the same tables with their
indexes.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import psycopg
from psycopg import sql

from ledger.stream import record_names
from ledger.stream.content import content_of
from mirror.core.values.hapi.messages import RecordStreamFile, SidecarFile, SignedTransaction, TransactionBody
from mirror.node.postgres.cluster import DATABASE, ROLE
from mirror.node.postgres.installation import PORT, server_paths
from mirror.node.postgres.server import in_use
from tests.benchmarks import streams

ROOT = Path(__file__).resolve().parents[2]

_STREAMS = {"transfers": streams.transfers, "mixed": streams.mixed}
_LOADED = re.compile(r"transactions in ([0-9.]+) s")
_VERSION_LENGTH = 4

# Partitions are filled through their parent. Users and the like are no part of a stream.
_TABLES = """
    select c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition
        and c.relname !~ '^(auth|django)_'
    order by c.relname"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("stream", choices=_STREAMS, nargs="?", default="transfers")
    parser.add_argument("--count", type=int, default=100_000, help="transactions")
    parser.add_argument("--per-block", type=int, default=1_000)
    parser.add_argument("--processes", type=int, help="processes that read files, by default what is set")
    options = parser.parse_args()

    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-benchmark-"))
    folder.chmod(0o755)
    environment = os.environ | {"SVC_MIRROR_DATA": str(folder / "data")}
    if options.processes is not None:
        environment["SVC_MIRROR_IMPORTER_PARSER_PROCESSES"] = str(options.processes)
    (folder / "data").mkdir(mode=0o755)
    manage = [sys.executable, str(ROOT / "manage.py")]
    try:
        began = time.monotonic()
        _STREAMS[options.stream](streams.into(folder / "stream"), options.count, options.per_block)
        print(f"composed {options.count:,} transactions in {time.monotonic() - began:.1f} s", flush=True)
        with in_use(folder / "data"):
            subprocess.run([*manage, "migrate", "--verbosity", "0"], check=True, env=environment)
            first = min((folder / "stream").rglob("*.rcd.gz"))
            beginning, _ = _ingest([*manage, "ingest", str(first)], environment)
            loaded, whole = _ingest([*manage, "ingest", str(folder / "stream")], environment)
            print(f"loaded in {loaded:.1f} s, {options.count / loaded:,.0f} transactions per second;")
            print(f"  a single file takes {beginning:.1f} s, most of it before the first row;")
            print(f"  {whole:.1f} s with the start of the process")
            parsing = _parse(folder / "stream")
            copying = _copy(folder / "data", folder / "rows")
        total = parsing + copying
        print(f"reference loads: parsing {parsing:.2f} s, COPY {copying:.2f} s, sum {total:.2f} s")
        print(f"loading takes {loaded / total:.2f} times the sum,")
        print(f"  {(loaded - beginning) / total:.2f} times without what a single file takes")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _ingest(command: list[str], environment: dict[str, str]) -> tuple[float, float]:
    """Return the seconds of loading, as the command says them, and those of the whole process."""
    began = time.monotonic()
    done = subprocess.run(command, check=True, env=environment, stdout=subprocess.PIPE, text=True)
    seconds = time.monotonic() - began
    print(done.stdout, end="", flush=True)
    said = _LOADED.search(done.stdout)
    assert said, "the command does not say how long it took"
    return float(said[1]), seconds


# REFERENCE LOADS


def _parse(stream: Path) -> float:
    """Read, decompress and parse all files: what the protobuf library needs."""
    began = time.monotonic()
    for path in sorted(stream.rglob("*.rcd*")):
        if record_names.is_signature(path.name):
            continue
        name = record_names.parse(path.name)
        content = content_of(name, path.read_bytes())
        if name.sidecar is not None:
            SidecarFile.FromString(content)
            continue
        for item in RecordStreamFile.FromString(content[_VERSION_LENGTH:]).record_stream_items:
            signed = SignedTransaction.FromString(item.transaction.signedTransactionBytes)
            TransactionBody.FromString(signed.bodyBytes)
    return time.monotonic() - began


@dataclass(frozen=True)
class _Table:
    name: str
    columns: sql.Composed
    rows: Path


def _copy(data: Path, folder: Path) -> float:
    """Copy all rows out and the tables empty, then COPY the rows back; return the seconds of the latter."""
    folder.mkdir()
    with psycopg.connect(
        host=str(server_paths(data).socket), port=PORT, dbname=DATABASE, user=ROLE, autocommit=True
    ) as connection:
        names = [row[0] for row in connection.execute(_TABLES).fetchall()]
        tables = [table for name in names if (table := _copied_out(connection, name, folder))]
        listed = sql.SQL(", ").join(sql.Identifier(table.name) for table in tables)
        connection.execute(sql.SQL("truncate {}").format(listed))
        buffers = [(table, table.rows.read_bytes()) for table in tables]
        began = time.monotonic()
        with connection.transaction():
            for table, rows in buffers:
                statement = sql.SQL("copy {} ({}) from stdin (format binary)").format(
                    sql.Identifier(table.name), table.columns
                )
                with connection.cursor().copy(statement) as copy:
                    copy.write(rows)
        return time.monotonic() - began


def _copied_out(connection: psycopg.Connection[tuple[str]], name: str, folder: Path) -> _Table | None:
    """Write a table's rows to a file; None for a table without rows."""
    if not connection.execute(sql.SQL("select 1 from {} limit 1").format(sql.Identifier(name))).fetchone():
        return None
    columns = connection.execute(
        "select attname from pg_attribute where attrelid = %s::regclass and attnum > 0 "
        "and not attisdropped and attgenerated = '' order by attnum",
        [name],
    ).fetchall()
    listed = sql.SQL(", ").join(sql.Identifier(row[0]) for row in columns)
    table = _Table(name, listed, folder / name)
    statement = sql.SQL("copy (select {} from {}) to stdout (format binary)").format(
        listed, sql.Identifier(name)
    )
    with connection.cursor().copy(statement) as copy, table.rows.open("wb") as file:
        for chunk in copy:
            file.write(chunk)
    return table


if __name__ == "__main__":
    main()
