"""Output that can't be written ends no process that has said so: a full disk, and a pipe without a reader."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.linux import linux_only

_PROGRAM = """
import os, sys, time
from mirror.core.processes import output
if "continues" in sys.argv:
    output.continue_without_output()
for stream in (sys.stdout, sys.stderr):
    print("a line", file=stream, flush=True)
child = os.fork()
if not child:
    print("of a child", flush=True)
    sys.exit(3)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
print("half a line", end="")
"""


@pytest.fixture(params=[pytest.param("full disk", marks=linux_only), "closed pipe"])
def unwritable(request: pytest.FixtureRequest) -> Iterator[int]:
    if request.param == "full disk":
        descriptor = os.open("/dev/full", os.O_WRONLY)
    else:
        reading, descriptor = os.pipe()
        os.close(reading)
    yield descriptor
    os.close(descriptor)


def _exit_code(output: int, *arguments: str) -> int:
    command = [sys.executable, "-c", _PROGRAM, *arguments]
    return subprocess.run(command, stdout=output, stderr=output, check=False).returncode


def test_process_ends_as_if_its_output_were_written(unwritable: int) -> None:
    assert _exit_code(unwritable, "continues") == 0
    # So Python does without this.
    assert _exit_code(unwritable) != 0


def test_output_that_can_be_written_is(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, "-c", _PROGRAM, "continues"], capture_output=True, check=True)

    assert done.stdout.splitlines() == [b"a line", b"of a child", b"half a line"]
    assert done.stderr == b"a line\n"
