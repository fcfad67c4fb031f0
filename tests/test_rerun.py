"""A run whose failed tests run once more, and tests that are skipped without reason."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests import summary
from tests.summary import skipped

ROOT = Path(__file__).parents[1]
FAILS = "def test_it(): assert False\n"
FAILS_ONCE = """
from pathlib import Path
def test_{0}():
    once = Path("{0}")
    if not once.exists():
        once.touch()
        print("the first output")
        assert False
"""


def run(folder: Path, settings: str = "", **files: str) -> tuple[int, str]:
    (folder / "pytest.ini").write_text(f"[pytest]\n{settings}\n")
    for name, content in files.items():
        (folder / f"test_{name}.py").write_text(content)
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "PYTEST_ADDOPTS": "-p xdist.plugin -p tests.summary -p no:cacheprovider",
        # The plugins of this suite would take most of the time.
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    }
    for name in ("DJANGO_SETTINGS_MODULE", "PYTEST_XDIST_WORKER", "PYTEST_CURRENT_TEST"):
        environment.pop(name, None)
    done = subprocess.run(
        [sys.executable, "-m", "tests.rerun"], cwd=folder, env=environment, capture_output=True, text=True
    )
    return done.returncode, done.stdout


def test_what_passes_alone_is_unstable(tmp_path: Path) -> None:
    code, output = run(tmp_path, a=FAILS_ONCE.format("a"))

    assert code == 0
    first, second = output.split("unstable: test_a.py::test_a\n")[1].split("--- second run\n")
    assert "the first output" in first
    assert "1 passed" in second


@pytest.mark.parametrize(
    ("files", "sentence"),
    [
        ({"a": FAILS}, "failed twice: test_a.py::test_it"),
        ({"a": FAILS, "b": FAILS_ONCE.format("b")}, "unstable: test_b.py::test_b"),
        (
            {name: FAILS_ONCE.format(name) for name in "abc"},
            "3 tests failed: a run with more than 2 unstable ones fails",
        ),
    ],
    ids=["failed twice", "one of two", "too many"],
)
def test_the_run_fails(files: dict[str, str], sentence: str, tmp_path: Path) -> None:
    code, output = run(tmp_path, **files)

    assert code == 1
    assert sentence in output


def test_skipped_tests_are_compared_with_those_expected(monkeypatch: pytest.MonkeyPatch) -> None:
    needs = {"promtool": {"reason": "no promtool", "programs": ["promtool"], "tests": 1}}
    monkeypatch.setattr(summary, "_CAUSES", needs)
    monkeypatch.setenv("PATH", "")
    assert skipped(["no promtool: apt-get install prometheus"]) == (
        ["1 tests skipped, 1 expected on this machine", "  promtool: 1 skipped"],
        True,
    )
    lines, is_expected = skipped(["tired"])
    assert not is_expected
    assert lines[1:] == ["  promtool: 0 skipped, 1 expected", "  tired: 1 skipped, 0 expected"]


def test_any_number_may_be_skipped_without_the_recorded_files(monkeypatch: pytest.MonkeyPatch) -> None:
    files = {"reason": "no recorded", "path": "nowhere"}
    monkeypatch.setattr(summary, "_CAUSES", {"files": files})
    assert skipped(["no recorded stream files"] * 3)[1]
    assert skipped([])[1]
    monkeypatch.setattr(summary, "_CAUSES", {"files": files | {"path": "tests"}})
    assert not skipped(["no recorded stream files"])[1]


def test_a_vanished_test_fails_the_run(tmp_path: Path) -> None:
    skips = "import pytest\n@pytest.mark.skip(reason='tired')\ndef test_it(): pass\n"
    code, output = run(tmp_path, "testpaths = .", a=skips, b=FAILS_ONCE.format("b"))

    assert code == 1
    assert "unstable: test_b.py::test_b" in output
    assert "tired: 1 skipped, 0 expected" in output
