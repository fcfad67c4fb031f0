"""Loaders and the crashes of PostgreSQL: nothing that was loaded is lost, and loading goes on by itself."""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, LiteralString

import psycopg
import pytest
from django.conf import settings

from mirror.core.processes import process_table
from mirror.node.postgres.installation import server_paths
from mirror.node.postgres.server import Server
from tests.composing import Composer
from tests.conftest import _FOLDER
from tests.signing import signing_nodes
from tests.waiting import wait_until

# Loads a folder, says so and waits, as a loader does between two files.
LOADER = """
import sys
from pathlib import Path
import django
django.setup()
from ledger.ingest.pipeline import Pipeline
from ledger.stream.source.local import find_record_files
Pipeline().run(find_record_files([Path(sys.argv[1])]))
print("loaded", flush=True)
sys.stdin.read()
"""


class Database:
    """A PostgreSQL of the test's own, with the tables."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = Server(server_paths(folder))

    @property
    def environment(self) -> dict[str, str]:
        url = f"postgresql://mirror_node@/mirror_node?host={self.server.paths.socket}"
        return os.environ | {
            "DATABASE_URL": url,
            "DJANGO_SETTINGS_MODULE": "mirror.settings",
            "SVC_MIRROR_DATA": str(self.folder),
            # Small batches, so that there are many moments between two commits.
            "SVC_MIRROR_IMPORTER_PARSER_RECORD_BATCH_MAXITEMS": "20",
        }

    def run(self, *arguments: str, book: Path | None = None) -> subprocess.Popen[str]:
        """Start Python with these arguments, and a network's first address book."""
        return subprocess.Popen(
            [sys.executable, *arguments],
            cwd=settings.BASE_DIR,
            env=self.environment | ({"SVC_MIRROR_IMPORTER_INITIALADDRESSBOOK": str(book)} if book else {}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def value(self, statement: LiteralString) -> Any:
        socket = str(self.server.paths.socket)
        with psycopg.connect(host=socket, user="mirror_node", dbname="mirror_node") as connection:
            row = connection.execute(statement).fetchone()
        assert row
        return row[0]

    def signal(self, number: signal.Signals, kind: str = "") -> None:
        """Send a signal to all its processes, or those of a kind, such as "walwriter"."""
        for pid in self.server.pids():
            if kind in process_table.command(pid):
                # The end of one ends others.
                with suppress(ProcessLookupError):
                    os.kill(pid, number)


class Stream:
    """A stream in one folder, with which each test goes on: the database has the blocks of those before."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "stream"
        self._composer = Composer(nodes=signing_nodes(2))
        self.book = folder / "book.bin"
        self.book.write_bytes(self._composer.address_book())
        self.blocks = 0

    def write(self, blocks: int, transfers: int = 1) -> None:
        for _ in range(blocks):
            for _ in range(transfers):
                self._composer.crypto_transfer({1001: -7, 1002: 7}, payer=1001)
            self._composer.block().write(self.folder)
        self.blocks += blocks


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


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Stream:
    return Stream(tmp_path_factory.mktemp("stream"))


def loaded(database: Database) -> int:
    return int(database.value("select count(*) from record_file"))


def has_loaded(database: Database, blocks: int) -> bool:
    """Return whether a database that may be away has so many blocks."""
    try:
        return loaded(database) == blocks
    except psycopg.OperationalError:
        return False


def test_a_block_that_is_loaded_outlives_a_crash_at_once(database: Database, stream: Stream) -> None:
    stream.write(2)
    # It would write out in a moment what a commit has not waited for.
    database.signal(signal.SIGSTOP, "walwriter")
    loader = database.run("-c", LOADER, str(stream.folder))
    assert loader.stdout
    assert loader.stdout.readline() == "loaded\n"
    database.signal(signal.SIGKILL)
    loader.communicate()
    database.server.restart()

    assert loaded(database) == stream.blocks


@pytest.mark.parametrize("how", ["restarted", "backend killed"])
@pytest.mark.parametrize("command", ["import", "follow"])
def test_loader_continues_when_the_database_is_back(
    database: Database, stream: Stream, command: str, how: str
) -> None:
    before = loaded(database)
    stream.write(40, transfers=20)
    options = ["--follow"] if command == "follow" else []
    loader = database.run("manage.py", "ingest", *options, str(stream.folder), book=stream.book)
    wait_until(lambda: loaded(database) > before)
    if how == "restarted":
        database.server.stop()
        database.server.restart()
    else:
        # PostgreSQL ends all others too then, and repairs itself.
        database.signal(signal.SIGKILL, "mirror_node mirror_node")
    if command == "follow":
        stream.write(1)
    wait_until(lambda: has_loaded(database, stream.blocks))
    if command == "follow":
        loader.send_signal(signal.SIGTERM)
    output, log = loader.communicate()

    assert loader.returncode == 0, log
    assert "Loaded " in output
    assert "Traceback" not in output + log
    assert log.count("database_away") <= 1
