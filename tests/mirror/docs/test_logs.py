"""The page about the log has every event that the code writes, with its level and keys, and no other."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings

from mirror.core.logs import access
from mirror.core.logs.configuring import LEVELS

PAGE = Path(settings.BASE_DIR, "mirror", "docs", "logs.md").read_text()
APPS = ("mirror", "ledger", "contracts", "tokens", "network", "web3sim")
TRACEBACK = "traceback"


def calls() -> Iterator[tuple[ast.Call, str]]:
    """The calls of loggers, each with its level."""
    for app in APPS:
        for path in Path(settings.BASE_DIR, app).rglob("*.py"):
            source = path.read_text()
            if "log." not in source:
                continue
            for node in ast.walk(ast.parse(source)):
                match node:
                    case ast.Call(func=ast.Attribute(value=ast.Name(id="log"), attr=method)) if method in {
                        *LEVELS,
                        "exception",
                    }:
                        yield node, method


def written() -> dict[str, tuple[set[str], set[str]]]:
    """Event -> the levels and keys that the code has for it."""
    found: dict[str, tuple[set[str], set[str]]] = defaultdict(lambda: (set(), set()))
    for call, method in calls():
        name = call.args[0]
        assert isinstance(name, ast.Constant) and isinstance(name.value, str), ast.unparse(call)
        levels, keys = found[name.value]
        levels.add("error" if method == "exception" else method)
        keys |= {str(keyword.arg) for keyword in call.keywords}
        if method == "exception":
            keys.add("exc_info")
    found[access.EVENT] = {access.LEVEL}, {*access.KEYS} - {"request_id"}
    return found


def described() -> dict[str, tuple[set[str], set[str]]]:
    """Event -> the level and keys that the page has for it."""
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \|([^|]*)\| [^|]{20,} \|$", PAGE, re.M)
    return {
        name: ({level}, {*re.findall(r"`(\w+)`", keys)} | ({"exc_info"} if TRACEBACK in keys else set()))
        for name, level, keys in rows
    }


def test_every_event_has_a_row_with_its_level_and_keys() -> None:
    assert described() == written()
