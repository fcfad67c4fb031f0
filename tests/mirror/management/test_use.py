"""How `manage.py` explains itself: its overview, each command's help, and sentences about wrong use."""

import re
import shlex

import pytest
from django.core.management import CommandError, load_command_class

from manage import makes_database, needs_database
from mirror.management import overview
from mirror.management.command import NodeCommand
from tests.node import manage


@pytest.mark.parametrize("name", overview.command_names())
def test_help_of_each_command_says_what_when_and_how(name: str) -> None:
    command = load_command_class("mirror", name)

    assert isinstance(command, NodeCommand)
    text = command.create_parser("manage.py", name).format_help()

    assert command.when
    assert command.examples
    assert "\nexamples:\n" in text
    assert "--pythonpath" not in text
    assert max(map(len, text.splitlines())) <= 100
    for line, meaning in command.examples:
        assert meaning.endswith(".")
        assert shlex.split(line)[0] == name
        command.check_arguments(shlex.split(line)[1:])


def test_overview_has_a_short_sentence_for_each_command() -> None:
    lines = overview.text().splitlines()

    for name in overview.command_names():
        (line,) = [line for line in lines if line.startswith(f"  {name} ")]
        assert re.fullmatch(rf"  {name} +[A-Z].*[a-z]\.", line)
        assert len(line) <= 120


WRONG = {
    "up --lvie": "`manage.py up` has no option --lvie: did you mean --live?",
    "status extra": "`manage.py status` does not take 'extra'.",
    "verify": "`manage.py verify` needs PATH, such as `manage.py verify /data/streams`.",
    "drop": "`manage.py drop` needs --before, such as `manage.py drop --before 2024-06 --estimate`.",
    "drop --before": "--before needs a value after it.",
    "replay --engine geth": "--engine is pyevm or pyevm-blocks, not 'geth'.",
    "replay --processes all": "--processes is a whole number, not 'all'.",
    "ingest --estimate=yes .": "--estimate takes no value, and 'yes' is given.",
    "ingest --f .": "--f may mean --follow or --from or --filter.",
    "demo --out x --blocks 0": "--blocks: '0' is not a whole number of at least 1.",
}


@pytest.mark.parametrize(("call", "sentence"), WRONG.items())
def test_wrong_use_is_refused_with_the_right_use(call: str, sentence: str) -> None:
    name, *arguments = call.split()

    with pytest.raises(CommandError) as raised:
        overview.check(name, arguments)

    assert str(raised.value) == f"{sentence} `manage.py {name} --help` says more."
    assert raised.value.returncode == 2


def test_misspelt_command_is_refused_with_the_one_that_was_meant() -> None:
    with pytest.raises(
        CommandError, match=r"^There is no command 'ingset': did you mean `manage.py ingest`\? "
    ):
        overview.check("ingset", [])
    with pytest.raises(
        CommandError, match=r"^There is no command 'qqq': `manage.py help` lists all of them.$"
    ):
        overview.check("qqq", [])


def test_removed_command_is_refused_with_what_to_do_instead() -> None:
    done = manage("backfill", "genesis", "head", "/data/streams")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == (
        "There is no command 'backfill' any more: load the history into a second database, and use that "
        "(`mirror/docs/history.md`).\n"
    )


def test_wrong_use_starts_no_database(data_folder: object) -> None:
    done = manage("upgrade", "now", SVC_MIRROR_DATA=f"{data_folder}/new")

    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "`manage.py upgrade` does not take 'now'. `manage.py upgrade --help` says more.\n"


def test_manage_alone_prints_the_overview() -> None:
    done = manage()

    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip() == overview.text()


@pytest.mark.parametrize(
    ("arguments", "needs", "makes"),
    [
        (["snapshot", "save", "load"], True, False),
        (["snapshot", "load", "check"], True, True),
        (["snapshot", "check", "folder"], False, False),
        (["reconcile", "folder"], True, False),
        (["ingest", "folder"], True, True),
    ],
)
def test_only_commands_that_fill_a_database_make_one(arguments: list[str], needs: bool, makes: bool) -> None:
    assert needs_database(arguments) == needs
    assert makes_database(arguments) == makes
