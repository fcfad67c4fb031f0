"""What archiving verified files costs, and whether a kill loses one: `python -m tests.benchmarks.archiving`.

    python -m tests.benchmarks.archiving speed --times 5
    python -m tests.benchmarks.archiving kills --times 50

A composed stream, which all of its nodes have signed, is loaded by `manage.py ingest` into an embedded
PostgreSQL, many times. `speed` does so with and without archiving the files in turn, and prints the
processor time of the loader and its clock. `kills` kills the loader at random moments: each file of the
database has to be archived, byte for byte.
"""

import argparse
import os
import random
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import psycopg

from mirror.node.postgres.cluster import DATABASE, ROLE
from mirror.node.postgres.installation import PORT, server_paths
from mirror.node.postgres.server import in_use
from tests.composing import Composer
from tests.signing import signing_nodes

ROOT = Path(__file__).resolve().parents[2]
MANAGE = [sys.executable, str(ROOT / "manage.py")]
NODES, ACCOUNTS = 7, 1_000
_LOADED = re.compile(r"transactions in ([0-9.]+) s")
_TABLES = """
    select string_agg(format('%I', c.relname), ', ')
    from pg_class c join pg_namespace n on n.oid = c.relnamespace
    where n.nspname = 'public' and c.relkind in ('r', 'p') and not c.relispartition
        and c.relname !~ '^(auth|django|backfill)'"""
_VARIABLES = (
    "SVC_MIRROR_IMPORTER_DOWNLOADER_RECORD_WRITEFILES",
    "SVC_MIRROR_IMPORTER_DOWNLOADER_RECORD_WRITESIGNATURES",
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("mode", choices=("speed", "kills"))
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--blocks", type=int, default=600)
    parser.add_argument("--per-block", type=int, default=100)
    parser.add_argument("--processes", type=int, default=0, help="processes that read files")
    options = parser.parse_args()
    folder = Path(tempfile.mkdtemp(prefix="ledger-mirror-benchmark-"))
    folder.chmod(0o755)
    (folder / "data").mkdir(mode=0o755)
    try:
        compose(folder, options.blocks, options.per_block)
        bench = Bench(folder, options.processes)
        with in_use(folder / "data"):
            subprocess.run([*MANAGE, "migrate", "--verbosity", "0"], check=True, env=bench.environment)
            (speed if options.mode == "speed" else kills)(bench, options.times)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def compose(folder: Path, blocks: int, per_block: int) -> None:
    choose, composer = random.Random(1), Composer(nodes=signing_nodes(NODES))
    (folder / "book").write_bytes(composer.address_book())
    people = range(1001, 1001 + ACCOUNTS)
    for _ in range(blocks):
        for _ in range(per_block):
            payer, receiver = choose.sample(people, 2)
            composer.crypto_transfer({payer: -7, receiver: 7}, payer=payer)
        composer.block().write(folder / "stream")


class Bench:
    """A database, a stream, and a place for files."""

    def __init__(self, folder: Path, processes: int) -> None:
        self.stream, self.archive, self._data = folder / "stream", folder / "archive", folder / "data"
        self.environment = os.environ | {
            "SVC_MIRROR_DATA": str(self._data),
            "SVC_MIRROR_IMPORTER_INITIALADDRESSBOOK": str(folder / "book"),
            "SVC_MIRROR_IMPORTER_ARCHIVE_LOCATION": str(self.archive),
            "SVC_MIRROR_IMPORTER_PARSER_PROCESSES": str(processes),
        }

    def start(self, *, archives: bool, stream: Path | None = None) -> subprocess.Popen[str]:
        environment = self.environment | dict.fromkeys(_VARIABLES, str(archives).lower())
        command = [*MANAGE, "ingest", str(stream or self.stream)]
        return subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, text=True)

    def query(self, statement: str) -> list[tuple[Any, ...]]:
        connection = psycopg.connect(
            host=str(server_paths(self._data).socket), port=PORT, dbname=DATABASE, user=ROLE, autocommit=True
        )
        with connection:
            cursor = connection.execute(statement)
            return cursor.fetchall() if cursor.description else []

    def empty(self) -> None:
        ((tables,),) = self.query(_TABLES)
        self.query(f"truncate {tables}")
        shutil.rmtree(self.archive, ignore_errors=True)


def speed(bench: Bench, times: int) -> None:
    took: dict[bool, list[tuple[float, float]]] = {False: [], True: []}
    for number in range(2 * times + 2):
        archives = bool(number % 2)
        bench.empty()
        before = os.times()
        process = bench.start(archives=archives)
        output, _ = process.communicate()
        after = os.times()
        said = _LOADED.search(output)
        assert said, output
        processor = (
            after.children_user + after.children_system - before.children_user - before.children_system
        )
        if number > 1:
            # The first of each fills caches.
            took[archives].append((processor, float(said[1])))
    print("| files are archived | processor time (s) | clock (s) |\n|---|---|---|")
    for archives, runs in took.items():
        processors, clocks = zip(*runs, strict=True)
        cells = [f"median {statistics.median(of):.2f}, best {min(of):.2f}" for of in (processors, clocks)]
        print(f"| {'yes' if archives else 'no'} | {' | '.join(cells)} |", flush=True)


def kills(bench: Bench, times: int) -> None:
    choose = random.Random(5)
    published = {path.name: path.read_bytes() for path in bench.stream.rglob("*.rcd.gz")}
    bench.empty()
    done = killed = within = 0
    while killed < times:
        process = bench.start(archives=True)
        try:
            process.communicate(timeout=choose.uniform(1.5, 8))
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            killed += 1
        before, done = done, check(bench, published)
        within += before < done < len(published)
        if done == len(published):
            bench.empty()
            done = 0
    print(f"{killed} kills, {within} of them between the first and last file: each loaded file is archived.")
    process = bench.start(archives=True)
    process.communicate()
    assert check(bench, published) == len(published)
    archived = bench.archive.rename(bench.archive.with_name("again"))
    bench.empty()
    process = bench.start(archives=False, stream=archived)
    print(process.communicate()[0].strip().splitlines()[-1])


def check(bench: Bench, published: dict[str, bytes]) -> int:
    """Return the number of loaded files. Errors: AssertionError if one of them is not archived."""
    archived = {path.name: path for path in bench.archive.rglob("*.rcd*")}
    loaded = [name for (name,) in bench.query("select name from record_file")]
    for name in loaded:
        assert archived[name].read_bytes() == published[name], name
        assert name.removesuffix(".gz") + "_sig" in archived, name
    return len(loaded)


if __name__ == "__main__":
    began = time.monotonic()
    main()
    print(f"in {time.monotonic() - began:.0f} s")
