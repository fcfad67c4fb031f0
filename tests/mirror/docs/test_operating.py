"""The operator's guide names only commands, options, settings and errors that there are."""

import re
import shlex
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class

from mirror.config.settings import SETTINGS

GUIDE = Path(settings.BASE_DIR, "mirror", "docs", "operating.md").read_text()
# In a line of its own, or between backticks.
CALLS = sorted(set(re.findall(r"(?:^    |`)manage\.py ([^`\n]+)", GUIDE, re.M)) - {"..."})
OURS = {name for name, app in get_commands().items() if app == "mirror"}


@pytest.mark.parametrize("call", CALLS)
def test_every_call_shown_is_understood(call: str) -> None:
    name, *arguments = shlex.split(call)

    assert name in OURS
    parser = load_command_class("mirror", name).create_parser("manage.py", name)
    parser.parse_args(arguments or [])


def test_every_command_is_in_the_guide() -> None:
    assert {call.split()[0] for call in CALLS} >= OURS


def test_every_option_named_exists() -> None:
    known = set[str]()
    for name in OURS:
        parser = load_command_class("mirror", name).create_parser("manage.py", name)
        known.update(option for action in parser._actions for option in action.option_strings)

    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", GUIDE))

    assert named
    assert named <= known


def test_every_setting_and_variable_named_exists() -> None:
    names = set(re.findall(r"`((?:importer|rest|web|common)\.[A-Za-z.]+)`", GUIDE))
    variables = set(re.findall(r"`([A-Z_]{4,})`", GUIDE))

    assert names <= {setting.name for setting in SETTINGS}
    assert variables <= {setting.variable for setting in SETTINGS}


def test_every_error_explained_is_one_of_ours() -> None:
    sources = "".join(
        path.read_text()
        for app in ("ledger", "mirror", "network")
        for path in (settings.BASE_DIR / app).rglob("*.py")
    )
    table = GUIDE.partition("## Errors and their cures")[2]
    differences = GUIDE.partition("| Difference |")[2].partition("## ")[0]
    said = re.findall(r"^\| `([^`]+)`", table + differences, re.M)

    assert len(said) > 12
    assert [text for text in said if text not in sources] == []
