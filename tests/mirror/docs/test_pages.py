"""The pages name only commands, options, settings and errors that there are, and leave out none of them."""

import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import get_commands, load_command_class

from mirror.core.config.settings import REMOVED, SETTINGS
from tests.benchmarks import operations
from tests.mirror.core.metrics import table
from tests.mirror.docs.messages import messages

FOLDER = Path(settings.BASE_DIR, "mirror", "docs")
PAGES = {path.stem: path.read_text() for path in sorted(FOLDER.glob("*.md"))}
ALL = "\n".join(PAGES.values())
# In a line of its own, with variables before it or not, or between backticks.
CALLS = sorted(set(re.findall(r"(?:^    (?:\S+=\S+ )*|`)manage\.py ([^`\n]+)", ALL, re.M)) - {"..."})
OURS = {name for name, app in get_commands().items() if app == "mirror"}
# Those of Django and of other programs that the pages show.
OTHERS = dict.fromkeys(("check", "dumpdata", "loaddata", "migrate"), "django.core")
OPTIONS_OF_OTHERS = {
    *(
        "--config",
        "--data-binary",
        "--detach",
        "--extra",
        "--from-literal",
        "--home-dir",
        "--init",
        "--meta",
        "--mode",
        "--no-owner",
        "--no-privileges",
        "--now",
        "--output-path",
        "--owner",
        "--path",
        "--pipe",
        "--profile",
        "--property",
        "--set",
        "--setenv",
        "--shell",
        "--strict",
        "--system",
        "--timeout",
        "--uid",
        "--wait",
        "--working-directory",
    )
}
VARIABLES_OF_OTHERS = {"DATABASE_URL", "REDIS_URL", "PORT", "SVC_MIRROR_DATA"}
# A message with fewer words that are always the same says nothing by them.
MIN_WORDS = 3
PREFIXES = "|".join(sorted({setting.name.partition(".")[0] for setting in SETTINGS if "." in setting.name}))


def parser(name: str):
    """Return the parser of a command's options."""
    return load_command_class(OTHERS.get(name, "mirror"), name).create_parser("manage.py", name)


@pytest.mark.parametrize("call", CALLS)
def test_every_call_shown_is_understood(call: str) -> None:
    name, *arguments = shlex.split(call)

    assert name in OURS | OTHERS.keys()
    # A command alone is named, not called.
    if arguments:
        parser(name).parse_args(arguments)


def test_every_command_is_in_a_page() -> None:
    assert {call.split()[0] for call in CALLS} >= OURS


def test_every_script_named_exists() -> None:
    for name in set(re.findall(r"python -m (tests[.\w]+)", ALL)):
        assert find_spec(name), name


def test_the_script_of_operations_describes_its_use() -> None:
    with pytest.raises(SystemExit) as ended:
        operations.main(["--help"])

    assert ended.value.code == 0


def test_every_option_named_exists() -> None:
    known = {
        option
        for name in OURS | OTHERS.keys()
        for action in parser(name)._actions
        for option in action.option_strings
    }

    named = set(re.findall(r"(?<![\w-])--[a-z][a-z-]+", ALL))

    assert named
    assert named - OPTIONS_OF_OTHERS <= known


def test_every_setting_and_variable_named_exists() -> None:
    names = set(re.findall(rf"`(?:svc\.mirror\.)?((?:{PREFIXES})\.[A-Za-z.0-9]+)`", ALL))
    variables = set(re.findall(r"\b(SVC_MIRROR_[A-Z0-9_]+)\b", ALL)) - VARIABLES_OF_OTHERS

    assert names <= {setting.name for setting in SETTINGS} | REMOVED.keys()
    assert variables <= {setting.variable for setting in SETTINGS}


def test_every_metric_named_exists() -> None:
    roles = {"mirror_node", "mirror_reader", "mirror_replica"}
    parts = re.compile(r"_(?:bucket|count|sum)$")
    named = {parts.sub("", name) for name in re.findall(r"`(mirror_[a-z_]+)`", ALL)} - roles

    assert named
    assert named <= set(re.findall(r"`(mirror_[a-z_]+)`", table.markdown()))


def explained() -> set[str]:
    """Return the words of messages that the page explains."""
    rows = re.findall(r"^\| (`[^|]+) \|", PAGES["troubleshooting"], re.M)
    return {words for row in rows for words in re.findall(r"`([^`]+)`", row)}


def matches(words: str, text: str) -> bool:
    """Return whether a text has the words; `…` stands for any others."""
    return re.search(".*".join(map(re.escape, words.split(" … "))), text, re.S) is not None


def test_every_error_explained_is_one_of_ours() -> None:
    sources = "".join(
        path.read_text()
        for folder in ("ledger", "mirror", "network", "deploy")
        for path in (settings.BASE_DIR / folder).rglob("*.py")
    )
    texts = [message.text for message in messages(Path(settings.BASE_DIR))]
    said = explained()

    assert len(said) > 100
    unknown = [
        words for words in said if words not in sources and not any(matches(words, text) for text in texts)
    ]
    assert unknown == []


def test_every_error_that_an_operator_may_meet_is_explained() -> None:
    said = explained()
    # Of others only the reason is a sentence, and those of the system or of PostgreSQL are not ours.
    told = [each for each in messages(Path(settings.BASE_DIR)) if each.words >= MIN_WORDS]
    missing = [each for each in told if not any(matches(words, each.text) for words in said)]

    assert len(told) > 100
    assert missing == [], "these need a row in mirror/docs/troubleshooting.md"
