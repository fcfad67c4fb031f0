"""What operators do rarely, on a live demo network: back up, restore, adopt a dump, prune.

    python -m tests.benchmarks.operations FOLDER

FOLDER is made anew, with the data folders of several nodes. One of them has the live demo network, with
tables that are partitioned by month. Each step prints what it shows; the exit code is 1 if one fails. All
takes about five minutes on two cores.
"""

import json
import os
import signal
import subprocess
import sys
import time
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import django
import psycopg

from mirror.node.postgres import cluster
from mirror.node.postgres.installation import server_paths
from mirror.operations.backup.manifest import Manifest
from tests.benchmarks.scale.databases import digests, reachable
from tests.node import LiveNode, Node

_FIRST_LEFT = "2025-06"


class Operations:
    """The steps, in their order; later ones need what earlier ones have made."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.live, self.restored = LiveNode(folder / "live"), Node(folder / "restored")
        self.adopted = Node(folder / "adopted")
        for node in (self.live, self.restored, self.adopted):
            node.folder.mkdir(mode=0o755)
        self.stream = self.live.folder / "demo-stream"
        self.backup = folder / "backup"

    def steps(self) -> list[Callable[[], None]]:
        copies = [self.back_up, self.restore, self.compare, self.adopt]
        return [*copies, self.drop, self.prune, self.retain]

    def back_up(self) -> None:
        """Back up while the node loads."""
        self.start_live(SVC_MIRROR_DB_PARTITIONS="true")
        self.live.goes_on()
        run(self.live, "backup", self.backup)
        run(self.live, "backup", "--check", self.backup)
        self.live.goes_on()

    def restore(self) -> None:
        """Restore into an empty database, and verify it up to the block of the backup."""
        run(self.restored, "restore", self.backup)
        block = Manifest.read(self.backup).block
        check(block is not None and block.number == last_block(self.restored), "has the block of the backup")
        run(self.restored, "verify", self.stream, "--to", str(last_block(self.restored)))

    def compare(self) -> None:
        """Stop the live network, load its last blocks into the restored one, and compare all tables."""
        check(self.live.stop(signal.SIGTERM) == 0, "the node has stopped in order")
        run(self.restored, "ingest", self.stream)
        run(self.restored, "verify", self.stream)
        self.check_equal(self.restored)

    def adopt(self) -> None:
        """Adopt a dump of a database that has what the original mirror node writes, and no more."""
        dump = self.folder / "original.dump"
        with reachable(str(self.restored.folder)) as url:
            with psycopg.connect(url, autocommit=True) as database:
                database.execute("create database original template mirror_node")
            original = url.replace("/mirror_node?", "/original?")
            with psycopg.connect(original, autocommit=True) as database:
                for statement in to_form_of_original():
                    database.execute(statement)
            postgres(self.restored, "pg_dump", "--format=custom", f"--file={dump}", original)
        with reachable(str(self.adopted.folder)) as url:
            postgres(
                self.adopted, "pg_restore", "--no-owner", "--no-privileges", f"--dbname={url}", str(dump)
            )
            run(self.adopted, "migrate", "--fake-initial", DATABASE_URL=url)
            run(self.adopted, "upgrade", DATABASE_URL=url)
            run(self.adopted, "verify", self.stream, DATABASE_URL=url)
        self.check_equal(self.adopted, without=own_tables())

    def drop(self) -> None:
        """Drop old months by command while the node runs."""
        self.start_live()
        self.live.goes_on()
        (first,) = self.get("transactions?limit=1&order=asc")["transactions"]
        block = self.get("blocks/0")
        run(self.live, "drop", "--before", _FIRST_LEFT)
        status, body = self.live.get(f"/api/v1/transactions/{first['transaction_id']}")
        (message,) = json.loads(body)["_status"]["messages"]
        check(status == 404 and "Dropped" in message["detail"], f"a dropped one is 404: {message['detail']}")
        opened = self.get("accounts/0.0.1001?transactions=false")["created_timestamp"]
        check(opened <= block["timestamp"]["to"], "an account that was opened in the first block is answered")
        check(self.get("blocks/0") == block, "and so is that block")
        self.check_rest(datetime.fromisoformat(f"{_FIRST_LEFT}-01T00:00:00Z"))
        done = self.live.run("verify", str(self.stream), "--to", "0")
        check(done.returncode == 1, "verify names the dropped rows as missing")

    def prune(self) -> None:
        """Prune by command while the node runs."""
        run(self.live, "prune", "--period", "365d")
        self.check_rest(datetime.now(UTC) - timedelta(days=365))

    def retain(self) -> None:
        """Let the node prune by its settings."""
        check(self.live.stop(signal.SIGTERM) == 0, "the node has stopped in order")
        prefix = "SVC_MIRROR_IMPORTER_RETENTION_"
        settings = {f"{prefix}ENABLED": "true", f"{prefix}PERIOD": "90d", f"{prefix}FREQUENCY": "1s"}
        self.start_live(**settings)
        self.live.wait_for(lambda: "Retention: dropped" in self.live.said)
        print("  " + next(line for line in self.live.said.splitlines() if line.startswith("Retention:")))
        retention = json.loads(self.live.run("status", "--json", **settings).stdout)["retention"]
        print(f"  status: {retention}")
        self.check_rest(datetime.now(UTC) - timedelta(days=90))
        check(self.live.stop(signal.SIGTERM) == 0, "the node has stopped in order")

    def start_live(self, **settings: str) -> None:
        self.live.start("up", "--live", SVC_MIRROR_DEMO_BLOCKS="100", **settings)

    def get(self, path: str) -> Any:
        status, body = self.live.get(f"/api/v1/{path}")
        check(status == 200, f"GET {path} says {status}", quiet=True)
        return json.loads(body)

    def check_rest(self, since: datetime) -> None:
        """Check that the API answers what is left, that it is right, and that the node goes on."""
        (first,) = self.get("transactions?limit=1&order=asc")["transactions"]
        begins = datetime.fromtimestamp(float(first["consensus_timestamp"]), UTC)
        check(since - timedelta(days=62) < begins, f"the first transaction is of {begins:%Y-%m-%d}")
        self.live.goes_on()
        start, end = max(begins, since).strftime("%Y-%m-%dT%H:%M:%SZ"), str(self.live.last())
        run(self.live, "verify", self.stream, "--from", start, "--to", end)

    def check_equal(self, node: Node, without: tuple[str, ...] = ()) -> None:
        """Check that the tables of a node are those of the live one."""
        with reachable(str(self.live.folder)) as one, reachable(str(node.folder)) as other:
            expected, found = digests(one), digests(other)
        tables = sorted((expected.keys() | found.keys()) - set(without))
        different = [table for table in tables if expected.get(table) != found.get(table)]
        rows = sum(expected[table][0] for table in tables if table in expected)
        words = f"{len(tables)} tables with {rows:,} rows, different: {different or 'none'}"
        check(not different, f"{node.folder.name}: {words}")


def run(node: Node, *arguments: str | Path, **variables: str) -> None:
    """Run a command of `manage.py`, and print its last line."""
    began = time.monotonic()
    done = node.run(*map(str, arguments), **variables)
    command = f"{time.monotonic() - began:5.1f} s  {node.folder.name}: {' '.join(map(str, arguments))}"
    check(done.returncode == 0, f"{command}: {done.stdout}{done.stderr}", quiet=True)
    print(f"  {command}\n           {done.stdout.splitlines()[-1]}", flush=True)


def postgres(node: Node, program: str, *arguments: str) -> None:
    path = cluster.binaries(server_paths(node.folder)) / program
    done = subprocess.run([path, *arguments], capture_output=True, text=True)
    check(done.returncode == 0, f"{program}: {done.stderr}", quiet=True)
    print(f"           {node.folder.name}: {program}")


def last_block(node: Node) -> int:
    with reachable(str(node.folder)) as url, psycopg.connect(url) as database:
        return int((database.execute("select max(index) from record_file").fetchone() or (-1,))[0])


def own_tables() -> tuple[str, ...]:
    """Return the tables that the original does not have."""
    from django.apps import apps

    from mirror.upgrade.tables import LEDGER_APPS

    models = apps.get_models(include_auto_created=True)
    own = (model._meta.db_table for model in models if model._meta.app_label not in LEDGER_APPS)
    return (*own, "django_migrations")


def to_form_of_original() -> list[str]:
    """Return the statements that remove from a database what the original does not have."""
    from mirror.core.db.schema.backfill import IndexBuild
    from mirror.upgrade.runner import BACKFILLS

    indexes = [build.index for build in BACKFILLS.values() if isinstance(build, IndexBuild)]
    return [
        *(f"drop table if exists {table} cascade" for table in own_tables()),
        *(f"drop index if exists {index}" for index in indexes),
        "alter table ethereum_transaction drop column in_weibars",
    ]


def check(is_so: bool, words: str, *, quiet: bool = False) -> None:
    assert is_so, words
    if not quiet:
        print(f"  {words}", flush=True)


def main(arguments: list[str] | None = None) -> None:
    parser = ArgumentParser(description=__doc__, formatter_class=RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args(arguments).folder.resolve()
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "mirror.settings")
    django.setup()
    operations, failed = Operations(folder), 0
    try:
        for step in operations.steps():
            print(step.__doc__, flush=True)
            try:
                step()
            except (AssertionError, OSError, psycopg.Error, subprocess.SubprocessError) as error:
                failed += 1
                print(f"  FAILED: {type(error).__name__}: {error}", flush=True)
    finally:
        if operations.live.process and operations.live.process.poll() is None:
            operations.live.stop(signal.SIGTERM)
    print(f"{failed} steps failed." if failed else "All steps passed.")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
