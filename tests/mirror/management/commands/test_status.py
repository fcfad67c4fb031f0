"""manage.py status: the sentence, the lines below it, the exit code."""

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from mirror.models import LoaderState
from tests.build import Build
from tests.mirror.node.test_status import PROBLEM, loader
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
    assert sentence.startswith("The last block is number 7 of ")
    assert empty == ""
    assert [line.split("  ")[1] for line in lines] == [
        *("Ready", "Network", "Last block", "Address book", "Rows", "Database", "Disk", "Versions")
    ]


def test_the_exit_code_is_1_when_someone_has_to_help(no_loader: None) -> None:
    loader("failed", problem=PROBLEM)
    said = StringIO()

    with pytest.raises(SystemExit) as raised:
        call_command("status", stdout=said)

    assert raised.value.code == 1
    assert said.getvalue().startswith("Not loading: a.rcd_sig: no consensus")


@pytest.mark.parametrize("command", [("status",), ("verify", "/tmp")])
def test_commands_that_only_read_make_no_node(command: tuple[str, ...], tmp_path: Path) -> None:
    done = manage(*command, SVC_MIRROR_DATA=str(tmp_path))

    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        f"There is no node in {tmp_path} yet: `manage.py up` and `manage.py ingest` make one.\n"
    )
    assert not list(tmp_path.iterdir())
