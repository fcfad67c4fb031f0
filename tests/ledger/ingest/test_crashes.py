"""Loaders and the crashes of PostgreSQL: nothing that was loaded is lost, and loading goes on by itself."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import LiteralString

import psycopg
import pytest
from django.conf import settings

from ledger.stream.compose import Composer
from mirror.db import embedded
from mirror.db.embedded import Server
from mirror.db.place import place
from tests.conftest import _FOLDER

# Loads a folder, says so and waits, as a loader does between two files.
LOADER = """
import sys
from pathlib import Path
import django
django.setup()
from ledger.ingest.pipeline import Pipeline
from ledger.stream.source import find_record_files
Pipeline().run(find_record_files([Path(sys.argv[1])]))
print("loaded", flush=True)
sys.stdin.read()
"""


class Database:
    """A PostgreSQL of the test's own, with the tables."""

    def __init__(self, folder: Path) -> None:
        self.server = Server(place(folder))

    @property
    def environment(self) -> dict[str, str]:
        url = f"postgresql://mirror_node@/mirror_node?host={self.server.place.socket}"
        return os.environ | {"DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "mirror.settings"}

    def run(self, *arguments: str) -> "subprocess.Popen[str]":
        """Start Python with these arguments."""
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=settings.BASE_DIR,
            env=self.environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def value(self, statement: LiteralString) -> object:
        socket = str(self.server.place.socket)
        with psycopg.connect(host=socket, user="mirror_node", dbname="mirror_node") as connection:
            row = connection.execute(statement).fetchone()
        assert row
        return row[0]

    def signal(self, number: signal.Signals, kind: str = "") -> None:
        """Send a signal to all its processes, or those of a kind, such as "walwriter"."""
        for pid in embedded._processes():
            title = embedded._command_line(pid)
            if self.server._mark in title and kind in title:
                os.kill(int(pid), number)


@pytest.fixture(scope="module")
def database(request: pytest.FixtureRequest) -> Iterator[Database]:
    folder = Path(tempfile.mkdtemp(prefix="data-", dir=request.config.stash[_FOLDER]))
    folder.chmod(0o755)
    database = Database(folder)
    with database.server.in_use():
        migrating = database.run("manage.py", "migrate")
        migrating.communicate()
        assert migrating.returncode == 0
        yield database


def write_blocks(folder: Path, blocks: int) -> None:
    composer = Composer()
    for _ in range(blocks):
        composer.crypto_transfer({1001: -7, 1002: 7}, payer=1001)
        composer.block().write(folder)


def test_a_block_that_is_loaded_outlives_a_crash_at_once(database: Database, tmp_path: Path) -> None:
    write_blocks(tmp_path, 2)
    # It would write out in a moment what a commit has not waited for.
    database.signal(signal.SIGSTOP, "walwriter")
    loader = database.run("-c", LOADER, str(tmp_path))
    assert loader.stdout and loader.stdout.readline() == "loaded\n"
    database.signal(signal.SIGKILL)
    loader.communicate()
    database.server.revive()

    assert database.value("select count(*) from record_file") == 2
