"""The lock: made from pyproject.toml, with hashes, and wheels for every machine that the README names."""

import re
import subprocess
import sys
import tomllib
from collections.abc import Iterable
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
UV = Path(sys.executable).with_name("uv")
LOCKS = ("requirements.txt", "requirements-dev.txt", "requirements-telemetry.txt")
PYTHONS = ("3.11.2", "3.12", "3.13", "3.14")
PLATFORMS = ("x86_64-manylinux_2_28", "aarch64-manylinux_2_28", "aarch64-apple-darwin")


def pins(lock: str) -> dict[str, str]:
    """Return the version of each package of a lock."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / lock).read_text(), re.MULTILINE))


@pytest.mark.parametrize("lock", LOCKS)
def test_every_package_is_pinned_with_hashes(lock):
    blocks = re.split(r"\n(?=\w)", (ROOT / lock).read_text())
    assert all(re.match(r"[\w.-]+==\S+ .*\n    --hash=sha256:[0-9a-f]{64}", block) for block in blocks)


def test_locks_are_made_from_the_lists_of_the_project():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"]
    for lock, listed in (
        ("requirements.txt", project["project"]["dependencies"]),
        ("requirements-dev.txt", project["project"]["dependencies"] + groups["dev"]),
        ("requirements-telemetry.txt", project["project"]["optional-dependencies"]["telemetry"]),
    ):
        wanted = dict(re.sub(r"\[.*?\]|;.*", "", each).split("==") for each in listed)
        assert {name: pins(lock).get(name) for name in wanted} == wanted, f"run `make lock` for {lock}"


def test_development_has_the_packages_of_a_node():
    assert pins("requirements.txt").items() <= pins("requirements-dev.txt").items()


@pytest.mark.parametrize("platform", PLATFORMS)
@pytest.mark.parametrize("python", PYTHONS)
def test_wheels_are_enough(tmp_path, python, platform):
    done = resolved(LOCKS, python, platform, tmp_path)
    assert done.returncode == 0, done.stderr


def test_package_without_a_wheel_is_noticed(tmp_path):
    lock = tmp_path / "lock.txt"
    lock.write_text("pyrevm==0.3.7\n")
    done = resolved([str(lock)], "3.13", "aarch64-manylinux_2_28", tmp_path)
    assert "pyrevm==0.3.7 has no usable wheels" in done.stderr


def resolved(
    locks: Iterable[str], python: str, platform: str, folder: Path
) -> subprocess.CompletedProcess[str]:
    """Resolve locks together for another machine, by what the package index says of the wheels."""
    command = [str(UV), "pip", "install", "--dry-run", "--target", str(folder / "packages")]
    command += ["--python-version", python, "--python-platform", platform]
    command += ["--only-binary", ":all:", *(f"--requirement={lock}" for lock in locks)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    if "Failed to fetch" in done.stderr:
        pytest.skip("the package index can't be reached")
    return done


def test_the_workflow_tests_each_python_of_the_wheels():
    workflow = (ROOT / ".github/workflows/test.yaml").read_text()
    assert set(re.findall(r'"(3\.\d+)"', workflow)) == {".".join(each.split(".")[:2]) for each in PYTHONS}
