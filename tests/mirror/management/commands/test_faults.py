"""Faults around a command, each reported in one sentence and never by a traceback."""

import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.conf import settings
from django.db import connection

from mirror.demo.streams.keys import nodes
from mirror.node.postgres.installation import server_paths
from mirror.node.postgres.server import Server
from network.bundled import FOLDER
from tests.composing import Composer
from tests.mirror.management.commands.test_ingest import stream
from tests.node import Node, manage
from tests.partitions import drop_database
from tests.waiting import PATIENCE_SECONDS

__all__ = ["stream"]


@pytest.fixture
def database(_test_database: None, django_db_blocker: Any) -> Iterator[Callable[..., str]]:
    """Makes a database by the given options of `create database`, and gives its URL."""
    name = f"test_fault_{os.getpid()}"
    own = connection.settings_dict

    def made(options: str = "") -> str:
        with django_db_blocker.unblock(), connection._nodb_cursor() as cursor:
            drop_database(cursor, name)
            cursor.execute(f"create database {name} {options}")
        words = {"host": own["HOST"], "port": own["PORT"], "user": own["USER"], "password": own["PASSWORD"]}
        return " ".join([f"dbname={name}", *(f"{key}={word}" for key, word in words.items() if word)])

    yield made
    with django_db_blocker.unblock(), connection._nodb_cursor() as cursor:
        drop_database(cursor, name)


def test_check_before_a_deployment_has_nothing_to_say(data_folder: Path) -> None:
    checked = manage("check", "--deploy", "--fail-level", "INFO", SVC_MIRROR_DATA=str(data_folder))

    assert checked.returncode == 0
    assert "no issues" in checked.stdout + checked.stderr


@pytest.mark.parametrize("command", ["up", "serve"])
def test_address_space_that_threads_do_not_fit_in_is_refused(command: str, node: Node) -> None:
    limited = ["sh", "-c", 'ulimit -v 1000000; exec "$@"', "sh", sys.executable, "manage.py", command]
    environment = node.environment | {"SVC_MIRROR_DATA": str(node.folder / "none")}
    done = subprocess.run(limited, cwd=settings.BASE_DIR, env=environment, capture_output=True, text=True)

    assert (done.returncode, done.stdout) == (1, "")
    said = re.sub(r"needs \d\.\d GB", "needs … GB", done.stderr)
    assert said == (
        "The address space of a process is limited to 976.6 MB (RLIMIT_AS), and a node needs … GB on this "
        "machine: start it after `ulimit -v unlimited`, or with LimitAS=infinity in its systemd unit.\n"
    )
    assert not (node.folder / "none").exists()


@pytest.mark.parametrize("command", ["up", "serve"])
def test_too_few_open_files_are_refused(command: str, node: Node) -> None:
    node.descriptors = 400
    node.begin(command, SVC_MIRROR_DATA=str(node.folder / "none"))
    assert node.ended() == 1
    assert node.said == (
        "A process may have 400 files open (RLIMIT_NOFILE), and a node needs 512: start it after "
        "`ulimit -Hn 65536`, or with LimitNOFILE=65536 in its systemd unit.\n"
    )
    assert not (node.folder / "none").exists()


def test_database_of_another_encoding_is_refused(database: Callable[..., str], tmp_path: Path) -> None:
    url = database("encoding 'SQL_ASCII' template template0 locale_provider libc locale 'C'")

    done = manage("ingest", "--follow", tmp_path, DATABASE_URL=url)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("DATABASE_URL names a database that keeps text as SQL_ASCII, which can't ")
    assert done.stderr.count("\n") == 1


def test_role_without_rights_learns_what_it_lacks(database: Callable[..., str], stream: Path) -> None:
    url = database()
    with psycopg.connect(url) as owner:
        owner.execute("revoke create on schema public from pg_database_owner")

    done = manage("ingest", stream, DATABASE_URL=url)

    assert done.returncode == 1
    assert done.stderr == (
        "The role of the database may not do what the node has to (permission denied for schema public): let "
        "it own the database (`alter database NAME owner to ROLE`), or name another one by DATABASE_URL.\n"
    )


def test_tables_of_another_program_are_left_alone(database: Callable[..., str], stream: Path) -> None:
    url = database()
    with psycopg.connect(url) as other:
        other.execute("create table token as select 'theirs' as name")

    done = manage("ingest", stream, DATABASE_URL=url)

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("The database has tables that another program made (token): name an empty ")
    with psycopg.connect(url) as other:
        assert other.execute(
            "select table_name from information_schema.tables where table_schema = 'public'"
        ).fetchall() == [("token",)]


def test_missing_partition_is_named_with_its_cure(database: Callable[..., str], stream: Path) -> None:
    url = database()
    assert manage("migrate", DATABASE_URL=url).returncode == 0
    with psycopg.connect(url) as owner:
        hashes = "select inhrelid::regclass from pg_inherits where inhparent = 'transaction_hash'::regclass"
        for (partition,) in owner.execute(hashes).fetchall():
            owner.execute(f"drop table {partition}")

    loaded = manage("ingest", stream, DATABASE_URL=url)

    sentence = (
        'A partition is missing (no partition of relation "transaction_hash" found for row): loading makes '
        "those of months when it starts, so start it again; make another one by `create table NAME partition "
        "of TABLE for values ...`."
    )
    assert (loaded.returncode, loaded.stderr) == (1, f"{sentence}\n")
    status = manage("status", DATABASE_URL=url).stdout.splitlines()[0]
    assert f" ago: {sentence} " in status


def test_address_book_of_another_network_is_refused_with_the_nearest(
    data_folder: Path, tables: None, tmp_path: Path
) -> None:
    made = Composer(nodes=nodes())
    made.crypto_transfer({2: -5, 1002: 5})
    made.block().write(tmp_path)
    options = {"SVC_MIRROR_DATA": str(data_folder), "SVC_MIRROR_NETWORK": "testnet"}

    refused = manage("ingest", tmp_path, **options)
    right = manage(
        "ingest", tmp_path, SVC_MIRROR_IMPORTER_INITIALADDRESSBOOK=str(FOLDER / "simulated.bin"), **options
    )

    assert (refused.returncode, refused.stdout) == (1, "")
    assert refused.stderr.endswith(
        ". Name the network's address book by importer.initialAddressBook, which counts until a file is "
        "loaded. Those that come with the program and are nearest: "
        f"{FOLDER}/simulated.bin (4 of 4 signers).\n"
    )
    assert right.returncode == 0, right.stderr
    assert "verified by signatures of 4 nodes" in right.stdout


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("ingest --estimate", "Name folders or files to load, or use --follow."),
        ("demo --out .", ". is not an empty folder: name a new one by --out."),
    ],
)
def test_wrong_use_is_explained_without_the_name_of_an_exception(
    command: str, sentence: str, data_folder: Path
) -> None:
    done = manage(*command.split(), SVC_MIRROR_DATA=str(data_folder))

    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"{sentence}\n")


@pytest.mark.parametrize("command", ["status", "ingest --follow", "serve", "up", "migrate", "verify ."])
def test_database_that_is_down_ends_a_command_with_one_sentence(command: str, node: Node) -> None:
    done = node.run(
        *command.split(),
        DATABASE_URL=f"postgresql://me@127.0.0.1:{node.port}/mine",
        SVC_MIRROR_COMMON_DATABASESTARTUP_ENABLED="false",
    )

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("The database of DATABASE_URL can't be used: connection failed: ")
    assert done.stderr.count("\n") == 1


def test_closed_output_ends_a_command_silently(node: Node) -> None:
    reading, writing = os.pipe()
    os.close(reading)
    try:
        done = subprocess.run(
            [sys.executable, "manage.py", "settings"],
            cwd=settings.BASE_DIR,
            env=node.environment,
            stdout=writing,
            stderr=subprocess.PIPE,
        )
    finally:
        os.close(writing)

    assert (done.returncode, done.stderr) == (128 + signal.SIGPIPE, b"")


def imports(node: Node) -> bool:
    if node.process is None:
        return False
    mapped = Path(f"/proc/{node.process.pid}/maps")
    # Only Linux shows it.
    return not mapped.parent.parent.exists() or "psycopg" in mapped.read_text()


# How far a first start has come.
MOMENTS: dict[str, Callable[[Node], object]] = {
    "imports": imports,
    "database": lambda node: "Making a new database" in node.said,
    # Once it is made, it has another name: a look may come too late for the first one.
    "initdb": lambda node: (
        "Making a new database" in node.said and any((node.folder / "postgres").glob("data*/base"))
    ),
    "postgres": lambda node: node.server.pids(),
    "tables": lambda node: "Creating or updating the tables" in node.said,
    "demo": lambda node: "Making a demo network" in node.said,
    "web": lambda node: (node.folder / "session-key").exists(),
}


@pytest.mark.parametrize(
    "moments",
    # Each start goes on from what the one before has left. While a new database is made, a process makes the
    # demo network ahead: so are both in the last two.
    [["imports", "database", "initdb", "postgres", "web"], ["tables"], ["demo"]],
    ids=", ".join,
)
def test_ctrl_c_ends_a_first_start_in_order_and_the_next_one_goes_on(node: Node, moments: list[str]) -> None:
    for moment in moments:
        node.begin("up")
        node.wait_for(partial(MOMENTS[moment], node))
        assert node.process

        # As a terminal does: to every process of the command.
        os.killpg(node.process.pid, signal.SIGINT)

        assert node.process.wait(PATIENCE_SECONDS) == 0, f"{moment}: {node.said}"
        assert node.said.endswith("Stopped.\n"), moment
        assert "Traceback" not in node.said, moment
        assert node.processes() == [], moment
    node.start()
    assert node.blocks()
    assert node.stop(signal.SIGINT) == 0


@pytest.mark.parametrize("moment", [imports, lambda node: bool(node.server.pids())], ids=["imports", "start"])
def test_serve_may_be_stopped_early(node: Node, moment: Callable[[Node], bool]) -> None:
    node.begin("serve")
    node.wait_for(lambda: moment(node))

    assert node.stop(signal.SIGINT) == 0
    assert node.said.endswith("Stopped.\n")
    assert "Traceback" not in node.said
    assert node.processes() == []


@pytest.fixture
def small_disk(node: Node) -> Iterator[Path]:
    disk = node.folder / "disk"
    disk.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=220m,mode=755", "tmpfs", str(disk)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a small disk")
    yield disk
    subprocess.run(["umount", "-l", str(disk)], check=True)


def fill(disk: Path, leave: int) -> None:
    with (disk / "other").open("wb") as other:
        os.posix_fallocate(other.fileno(), 0, shutil.disk_usage(disk).free - leave)


def test_new_database_needs_room(node: Node, small_disk: Path) -> None:
    fill(small_disk, leave=70 << 20)

    done = node.run("up", SVC_MIRROR_DATA=str(small_disk / "node"))

    assert done.returncode == 1
    assert done.stderr == (
        f"The disk that holds {small_disk}/node/postgres has 70.0 MB free, and a new database needs "
        "200.0 MB: free some space and start again.\n"
    )


@pytest.mark.parametrize("step", ["Creating or updating the tables.", "Making a demo network"])
def test_disk_that_fills_ends_a_command_with_one_sentence(node: Node, small_disk: Path, step: str) -> None:
    node.begin("up", SVC_MIRROR_DATA=str(small_disk / "node"), SVC_MIRROR_DEMO_BLOCKS="2000")
    node.wait_for(lambda: step in node.said)
    fill(small_disk, leave=2 << 20)

    assert node.ended() == 1
    last = node.said.splitlines()[-1]
    assert " is full (" in last or "No space left on device" in last
    assert "Traceback" not in node.said and "did not stop" not in node.said
    assert node.processes() == []


def test_full_disk_is_named_once_by_a_command_that_waits(small_disk: Path) -> None:
    said: list[str] = []
    server = Server(server_paths(small_disk / "node"), configuration={"fsync": "off"}, echo=said.append)
    with server.in_use():
        said.clear()
        os.kill(server.pid() or 0, signal.SIGKILL)
        fill(small_disk, leave=0)
        for _ in range(3):
            assert not server.ensure_up()
        (small_disk / "other").unlink()
        assert server.ensure_up()

    assert said[0].startswith(f"The disk that holds {small_disk}/node/postgres is full (")
    assert said[0].endswith(" free): free some space. The node tries again by itself.")
    assert [line for line in said[1:] if not line.startswith("Waiting for PostgreSQL")] == []


def test_time_that_is_none_is_wrong_use(tables: None, data_folder: Path) -> None:
    done = manage("ingest", "--follow", data_folder, "--from", "yesterday", SVC_MIRROR_DATA=str(data_folder))

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == '"yesterday" is not a time of the form 2024-06-01T12:30:00Z.\n'
