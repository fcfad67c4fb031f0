"""The behaviours of loading and the tests that show them: `python -m tests.checklist`, or `make checklist`.

`checklist.toml` lists the behaviours by id. A test names those it shows by a marker, and `-k` finds it by the
id:

    @pytest.mark.checklist("HCS-09", "HCS-10")

A behaviour that was decided otherwise is a row of the first table in mirror/docs/loading.md, with the reason.
"""

import os
import re
import sys
import tomllib
from functools import cache
from pathlib import Path

import pytest

HERE = Path(__file__).parent
DECISIONS = HERE.parent / "mirror" / "docs" / "loading.md"
_DECISION = re.compile(r"^\| `([A-Z]+-\d\d)` \| (.+?) \|$", re.MULTILINE)


@cache
def behaviours() -> dict[str, str]:
    """Return id -> behaviour, in the order of the file."""
    return tomllib.loads((HERE / "checklist.toml").read_text())


def decided_otherwise() -> dict[str, str]:
    """Return id -> the decision and its reason."""
    return dict(_DECISION.findall(DECISIONS.read_text())) if DECISIONS.exists() else {}


def ids_of(item: pytest.Item) -> set[str]:
    """Return the ids a test names. Errors: pytest.UsageError for one that is not in the list."""
    ids = {name for marker in item.iter_markers("checklist") for name in marker.args}
    if unknown := ids - behaviours().keys():
        raise pytest.UsageError(f"{item.nodeid}: not in checklist.toml: {', '.join(sorted(unknown))}")
    return ids


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let `-k` find a test by the ids it names."""
    for item in items:
        item.extra_keyword_matches |= ids_of(item)


class _Collector:
    """A pytest plugin that collects the tests of every id."""

    def __init__(self) -> None:
        self.tests: dict[str, list[str]] = {}

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        for item in items:
            for name in ids_of(item):
                self.tests.setdefault(name, []).append(item.nodeid)


def main() -> int:
    collector = _Collector()
    output = sys.stdout
    with Path(os.devnull).open("w") as sys.stdout:
        status = pytest.main(["--collect-only", "-q", str(HERE)], plugins=[collector])
    sys.stdout = output
    if status:
        print("The tests cannot be collected: run pytest --collect-only to see why.")
        return 1
    otherwise, missing = decided_otherwise(), []
    for name, behaviour in behaviours().items():
        print(f"{name}  {behaviour}")
        for test in collector.tests.get(name, ()):
            print(f"        {test}")
        if name in otherwise:
            print(f"        decided otherwise: {otherwise[name]}")
        elif name not in collector.tests:
            missing.append(name)
    listed = len(behaviours())
    print(f"\n{listed - len(missing)} of {listed} are shown by a test or decided otherwise.")
    if missing:
        print(f"Missing: {' '.join(missing)}")
    return 1 if missing else 0


if __name__ == "__main__":
    sys.exit(main())
