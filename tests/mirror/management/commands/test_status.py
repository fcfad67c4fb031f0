"""manage.py status: the sentence, the lines below it, the exit code."""

import json
import os
import pty
import socket
import sys
from io import StringIO
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.core.management import call_command

from mirror.core.config.setting import OperatorError
from mirror.management.commands.status import time_limit
from mirror.models import LoaderState
from tests.build import Build
from tests.mirror.node.health.test_status import PROBLEM, loader
from tests.node import manage


@pytest.fixture
def no_loader(db: None, settings: Any, tmp_path: Path) -> None:
    # Processes that other tests killed are listed in the data folder.
    settings.DATA_DIR = tmp_path
    LoaderState.objects.all().delete()


def test_it_works_without_a_loader(no_loader: None, build: Build) -> None:
    build.block(7)
    said = StringIO()

    call_command("status", stdout=said)

    sentence, empty, *lines = said.getvalue().splitlines()
    assert "The last block is number 7 of " in sentence
    assert empty == ""
    assert [line.split("  ")[1] for line in lines] == [
        *(
            "Ready",
            "Network",
            "Last block",
            "Address book",
            "Rows",
            "Database",
            "Disk",
            "Versions",
            "Web server",
        )
    ]


def test_exit_code_is_1_when_someone_has_to_help(no_loader: None) -> None:
    loader("failed", problem=PROBLEM)
    said = StringIO()

    with pytest.raises(SystemExit) as raised:
        call_command("status", stdout=said)

    assert raised.value.code == 1
    assert said.getvalue().startswith("Not loading: the loader ended ")


@pytest.mark.parametrize("command", [("status",), ("verify", "/tmp")])
def test_commands_that_only_read_make_no_node(command: tuple[str, ...], tmp_path: Path) -> None:
    done = manage(*command, SVC_MIRROR_DATA=str(tmp_path))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"There is no node in {tmp_path} yet: `manage.py up` and `manage.py ingest` make one.\n"
    )
    assert not list(tmp_path.iterdir())


def test_programs_get_the_same_facts_as_json(no_loader: None, build: Build) -> None:
    build.block(7)
    loader("stuck", problem=PROBLEM)
    said = StringIO()

    with pytest.raises(SystemExit):
        call_command("status", "--json", stdout=said)

    facts = json.loads(said.getvalue())
    assert set(facts) == {
        *("sentence", "state", "needs_help", "now", "last_block", "loader", "problem", "upgrade"),
        *(
            "skipped_transaction",
            "archive_failure",
            "kept",
            "balances_differ",
            "standby",
            "network",
            "address_book",
            "estimated_rows",
            "database",
            "disk",
            "deaths",
            "ready",
            "reasons",
        ),
        *(
            "errata",
            "retention",
            "versions",
            "web_server",
            "grpc_server",
            "loaded",
            "replicas",
            "ledger_id",
        ),
    }
    assert (facts["state"], facts["needs_help"]) == ("killed", True)
    assert facts["last_block"]["number"] == 7
    assert facts["loader"]["source"] == "s3://streams"
    assert facts["problem"]["cause"] == PROBLEM["cause"]
    assert facts["database"]["bytes"] > 0


def test_json_says_in_the_same_shape_that_nothing_is_known(tmp_path: Path) -> None:
    done = manage("status", "--json", SVC_MIRROR_DATA=str(tmp_path))

    assert (done.returncode, done.stderr) == (1, "")
    assert json.loads(done.stdout) == {
        "sentence": f"There is no node in {tmp_path} yet: `manage.py up` and `manage.py ingest` make one.",
        "state": "unknown",
        "needs_help": True,
    }


def test_database_that_hangs_is_reported_and_not_waited_for(no_loader: None) -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        with (
            pytest.raises(OperatorError, match=r"^The database of the node has not answered for "),
            time_limit(0.2),
        ):
            psycopg.connect(host="127.0.0.1", port=port)


@pytest.mark.parametrize(("terminal", "colour"), [(False, ""), (True, "\x1b[31;1m")])
def test_only_a_terminal_sees_colours(
    no_loader: None, terminal: bool, colour: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    loader("failed", problem=PROBLEM)
    reading, writing = pty.openpty()
    with os.fdopen(writing, "w") if terminal else StringIO() as output:
        monkeypatch.setattr(sys, "stdout", output)
        with pytest.raises(SystemExit):
            call_command("status", stdout=output)
        text = output.getvalue() if isinstance(output, StringIO) else os.read(reading, 1000).decode()
    os.close(reading)

    assert text.startswith(f"{colour}Not loading: ")
    assert ("\x1b" in text) is terminal
