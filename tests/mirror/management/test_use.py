"""How `manage.py` explains itself: each command's help, wrong use, and which commands need a database."""

import shlex
from typing import Any

import pytest
from django.core.management import find_commands, get_commands, load_command_class

import mirror.management
from mirror.management.command import NodeCommand
from mirror.management.run import OF_DJANGO
from tests.node import manage

NAMES = find_commands(mirror.management.__path__[0])


def command(name: str) -> NodeCommand:
    loaded = load_command_class("mirror", name)
    assert isinstance(loaded, NodeCommand)
    return loaded


@pytest.mark.parametrize("name", NAMES)
def test_help_of_each_command_says_what_when_and_how(name: str) -> None:
    parser = command(name).create_parser("manage.py", name)

    assert command(name).when
    assert "\nexamples:\n" in parser.format_help()
    assert "--pythonpath" not in parser.format_help()
    for line, meaning in command(name).examples:
        assert meaning.endswith(".")
        assert shlex.split(line)[0] == name
        parser.parse_args(shlex.split(line)[1:])


def test_help_lists_the_commands() -> None:
    assert "[mirror]\n    backup\n" in manage("help").stdout


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        ("up --lvie", "unrecognized arguments: --lvie"),
        ("verify", "the following arguments are required: PATH"),
        ("upgrade now", "unrecognized arguments: now"),
        ("demo --out x --blocks 0", "argument --blocks: '0' is not a whole number of at least 1"),
    ],
)
def test_wrong_use_is_refused_and_starts_no_database(call: str, sentence: str, data_folder: object) -> None:
    done = manage(*call.split(), SVC_MIRROR_DATA=f"{data_folder}/new")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith(f"manage.py {call.split()[0]}: error: {sentence}\n")


@pytest.mark.parametrize(
    ("name", "options", "database", "writes"),
    [
        ("snapshot", {"action": "save"}, "existing", False),
        ("snapshot", {"action": "load"}, "new", True),
        ("snapshot", {"action": "check"}, "none", False),
        ("backup", {"check": True}, "none", False),
        ("backup", {"check": False}, "existing", False),
        ("reconcile", {}, "existing", True),
        ("prune", {"estimate": False}, "existing", True),
        ("prune", {"estimate": True}, "existing", False),
        ("drop", {"estimate": True}, "existing", False),
        ("restore", {}, "new", True),
        ("verify", {}, "existing", False),
    ],
)
def test_only_commands_that_fill_a_database_make_one(
    name: str, options: dict[str, Any], database: str, writes: bool
) -> None:
    assert command(name).database_for(options) == database
    assert command(name).writes_for(options) == writes


def test_command_of_django_works_on_the_database_of_the_node(data_folder: object) -> None:
    done = manage("showmigrations", "mirror", SVC_MIRROR_DATA=f"{data_folder}/new")

    assert "[ ] 0001_initial" in done.stdout


def test_commands_of_django_exist() -> None:
    assert set(get_commands()) >= OF_DJANGO
