"""The database of DATABASE_URL, which may start later than the command that needs it."""

import signal
from pathlib import Path

import pytest

from tests.node import Node
from tests.waiting import PATIENCE_SECONDS

WAITING = "Waiting for the database of DATABASE_URL, for up to "
QUICK = {"SVC_MIRROR_COMMON_DATABASESTARTUP_INTERVAL": "50ms"}
FOR_LONG = {**QUICK, "SVC_MIRROR_COMMON_DATABASESTARTUP_TIMEOUT": f"{PATIENCE_SECONDS:.0f}s"}


@pytest.fixture
def url(node: Node, tables: None) -> str:
    """The address of a database that is made, but whose server does not run."""
    return f"postgresql://mirror_node@/mirror_node?host={node.server.paths.socket}"


def test_command_waits_until_the_database_answers(node: Node, url: str) -> None:
    node.begin("migrate", DATABASE_URL=url, **FOR_LONG)
    node.wait_for(lambda: WAITING in node.said)
    with node.server.in_use():
        assert node.ended() == 0, node.said
    assert "No migrations to apply" in node.said
    assert "Traceback" not in node.said


@pytest.mark.parametrize("command", ["up", "serve"])
def test_node_that_waits_can_be_stopped(node: Node, url: str, command: str) -> None:
    node.begin(command, DATABASE_URL=url, **FOR_LONG)
    node.wait_for(lambda: WAITING in node.said)
    assert node.stop(signal.SIGTERM) == 0
    assert node.said.endswith("Stopped.\n")


def test_command_gives_up_after_the_time_of_the_setting(node: Node, tmp_path: Path) -> None:
    address = f"postgresql://me@/mine?host={tmp_path}"
    done = node.run(
        "migrate", DATABASE_URL=address, **QUICK, SVC_MIRROR_COMMON_DATABASESTARTUP_TIMEOUT="200ms"
    )
    assert (done.returncode, done.stdout) == (1, "")
    first, last = done.stderr.splitlines()
    assert first.startswith(f"{WAITING}0 seconds: ")
    assert last.startswith("The database of DATABASE_URL can't be used: connection ")


def test_what_waiting_does_not_cure_ends_a_command_at_once(node: Node, url: str) -> None:
    with node.server.in_use():
        done = node.run("migrate", DATABASE_URL=url.replace("/mirror_node?", "/missing?"), **FOR_LONG)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert 'database "missing" does not exist' in done.stderr


def test_status_says_at_once_that_the_database_is_away(node: Node, url: str) -> None:
    done = node.run("status", DATABASE_URL=url, **FOR_LONG)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("The database of DATABASE_URL can't be used: ")
