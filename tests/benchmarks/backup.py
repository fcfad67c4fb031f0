"""A backup of a node that follows 2,000 transactions per second, and the node that is made of it.

    manage.py demo --out STREAM --blocks 45 --tps 2000
    python -m tests.benchmarks.backup STREAM

loads the first blocks of the stream into a database, lets a loader follow the rest, a block every two
seconds, and makes a backup meanwhile. The backup is restored into an empty database, and compared, row by
row, with one that was loaded from the files up to the same block. Then it goes on to the end, and is compared
with the source.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from pathlib import Path

import psycopg

from mirror.operations.backup.manifest import Manifest
from tests.benchmarks import reading_while_loading as following
from tests.benchmarks.scale.databases import ROOT, reachable

_FIRST_BLOCKS = 10
_SECONDS_BEFORE = 5.0
# When something was loaded is the only thing that may differ.
_NOT_COMPARED = ["load_start", "load_end"]
_TABLES = """
    select relname from pg_class
    where relkind in ('r', 'p') and not relispartition and pg_table_is_visible(oid)
        and relnamespace = current_schema()::regnamespace
        and relname !~ '^(auth|django|backfill|loader_state|node_minute)'
    order by 1"""
_DIGEST = """
    select count(*), coalesce(sum(('x' || substr(row, 1, 15))::bit(60)::bigint), 0),
        coalesce(sum(('x' || substr(row, 17, 15))::bit(60)::bigint), 0)
    from (select md5((to_jsonb(t) - %s::text[])::text) as row from {table} t) digests"""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("stream", type=Path)
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-benchmark-"))
    folder.chmod(0o755)
    try:
        sys.exit(0 if measure(options.stream, folder) else 1)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(stream: Path, folder: Path) -> bool:
    """Print how long everything takes; return whether the databases are equal at both blocks."""
    files = following._files(stream)
    blocks, bucket, saved = sorted(files), folder / "bucket", folder / "backup"
    bucket.mkdir()
    shutil.copy(stream / "addressbook.bin", bucket)
    for block in blocks[:_FIRST_BLOCKS]:
        following._publish(stream, folder, files[block])
    with ExitStack() as stack:
        source = stack.enter_context(_database(folder / "source"))
        timed("load the first blocks", lambda: manage(source, "ingest", bucket))
        with following._running(
            [sys.executable, "manage.py", "ingest", "--follow", str(bucket)], environment(source)
        ):
            ending = threading.Event()
            publisher = threading.Thread(
                target=following._publish_on,
                args=(stream, folder, files, blocks[_FIRST_BLOCKS:], ending),
            )
            publisher.start()
            time.sleep(_SECONDS_BEFORE)
            with psycopg.connect(source, autocommit=True) as connection:
                before, began = following._loaded(connection), time.monotonic()
                timed("back up", lambda: manage(source, "backup", saved))
                after, seconds = following._loaded(connection), time.monotonic() - began
                rate = (after[1] - before[1]) / seconds
                print(f"loaded meanwhile: {after[0] - before[0]} blocks, {rate:,.0f} transactions per second")
                publisher.join()
                while following._loaded(connection)[0] < len(blocks):
                    time.sleep(0.5)
        done = Manifest.read(saved)
        assert done.block
        print(f"backup: block {done.block.number}, {done.rows:,} rows, {done.bytes / 2**20:,.0f} MB")

        restored = stack.enter_context(_database(folder / "restored"))
        timed("restore", lambda: manage(restored, "restore", saved))
        loaded = stack.enter_context(_database(folder / "loaded"))
        up_to = blocks[: done.block.number + 1]
        parts = [path for block in up_to for path in files[block]]
        (folder / "part").mkdir()
        shutil.copy(stream / "addressbook.bin", folder / "part")
        for path in parts:
            place = folder / "part" / path.relative_to(stream)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, place)
        timed("load up to the same block", lambda: manage(loaded, "ingest", folder / "part"))
        equal = compare("at the block of the backup", restored, loaded)
        timed("go on with the restored one", lambda: manage(restored, "ingest", bucket))
        return compare("at the end", restored, source) and equal


def timed(words: str, work: Callable[[], None]) -> None:
    began = time.monotonic()
    work()
    print(f"{time.monotonic() - began:6.1f} s to {words}", flush=True)


def _database(folder: Path) -> AbstractContextManager[str]:
    folder.mkdir(mode=0o755)
    return reachable(str(folder))


def environment(url: str) -> dict[str, str]:
    return os.environ | {"SVC_MIRROR_NETWORK": "simulated", "DATABASE_URL": url}


def manage(url: str, *arguments: str | Path) -> None:
    subprocess.run(
        [sys.executable, "manage.py", *map(str, arguments)],
        cwd=ROOT,
        env=environment(url),
        check=True,
        stdout=subprocess.DEVNULL,
    )


def compare(words: str, one: str, other: str) -> bool:
    """Print whether all tables of two databases have the same rows; return that."""
    first, second = digests(one), digests(other)
    differing = sorted(table for table in first | second if first.get(table) != second.get(table))
    rows = sum(digest[0] for digest in first.values())
    print(f"{words}: {len(first)} tables with {rows:,} rows compared, different: {differing or 'none'}")
    return not differing


def digests(url: str) -> dict[str, tuple[int, ...]]:
    """Return the number of rows of each table, and sums of their digests."""
    with psycopg.connect(url, autocommit=True) as connection:
        return {
            table: connection.execute(_DIGEST.format(table=f'"{table}"'), [_NOT_COMPARED]).fetchone() or (0,)
            for (table,) in connection.execute(_TABLES).fetchall()
        }


if __name__ == "__main__":
    main()
