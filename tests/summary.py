"""The end of a test run: skipped tests against the expected ones, and the outcome for `tests.rerun`.

`tests/skips.toml` lists what tests need that a machine may lack, and how many tests are skipped then. A whole
run in which another number is skipped fails: tests must not vanish from a green run.
"""

import json
import os
import re
import shutil
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

#: The variable with the file into which the outcome is written: `failures`, output by node id, and whether
#: as many tests were skipped as expected.
OUTCOME = "MIRROR_TEST_OUTCOME"
_CAUSES = tomllib.loads(Path(__file__).with_name("skips.toml").read_text())
_ROOT = Path(__file__).parents[1]


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    terminal: Any = session.config.pluginmanager.get_plugin("terminalreporter")
    if hasattr(session.config, "workerinput") or terminal is None:
        return
    is_expected = True
    if _is_whole(session.config):
        lines, is_expected = skipped([each.longrepr[2] for each in terminal.stats.get("skipped", ())])
        terminal.write_line("")
        for line in lines:
            terminal.write_line(line)
        if not (is_expected or session.exitstatus):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED
    if path := os.environ.get(OUTCOME):
        failed = [*terminal.stats.get("failed", ()), *terminal.stats.get("error", ())]
        outcome = {
            "failures": {each.nodeid: _output(each) for each in failed},
            "skips_expected": is_expected,
        }
        Path(path).write_text(json.dumps(outcome))


def skipped(reasons: list[str]) -> tuple[list[str], bool]:
    """Return lines about the skipped tests, by cause, and whether as many were skipped as expected here."""
    counts = Counter(
        next((name for name, cause in _CAUSES.items() if re.search(cause["reason"], reason)), reason)
        for reason in reasons
    )
    expected = Counter(
        {name: cause.get("tests", counts[name]) for name, cause in _CAUSES.items() if _is_absent(cause)}
    )
    lines = [
        f"  {name}: {counts[name]} skipped"
        + ("" if counts[name] == expected[name] else f", {expected[name]} expected")
        for name in sorted(counts | expected)
    ]
    total = f"{len(reasons)} tests skipped, {expected.total()} expected on this machine"
    return [total, *lines], +counts == +expected


def _is_absent(cause: dict[str, Any]) -> bool:
    """Return whether the machine lacks what the tests need: one of its programs, a variable or a path."""
    programs = [program.split(" or ") for program in cause.get("programs", ())]
    has_program = bool(programs) and all(any(map(shutil.which, names)) for names in programs)
    has_variable = cause.get("variable", "") in os.environ
    has_path = "path" in cause and any(Path("/").glob(str(_ROOT / cause["path"])[1:]))
    return not (has_program or has_variable or has_path)


def _is_whole(config: pytest.Config) -> bool:
    options = config.option
    # The last option is that of a plugin.
    names = ("keyword", "markexpr", "collectonly", "maxfail", "lf")
    selects = any(getattr(options, name, None) for name in names)
    return config.args_source is pytest.Config.ArgsSource.TESTPATHS and not selects


def _output(report: Any) -> str:
    return "\n".join([report.longreprtext, *(f"{title}\n{text}" for title, text in report.sections)])
