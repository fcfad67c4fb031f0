"""The parts of a running node, when their supervisor is stopped at the very moment it makes one."""

import os
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mirror.demo.publish import run
from mirror.start import supervisor
from tests.forking import begun
from tests.node import in_session
from tests.waiting import PATIENCE_SECONDS


def _stopped_at_a_fork() -> None:
    """Have Ctrl-C come as soon as this process has made another one."""
    ours = os.getpid()
    signal.signal(signal.SIGINT, signal.default_int_handler)

    def interrupt(_: object, event: str, called: object) -> None:
        if event == "c_return" and called is os.fork:
            sys.setprofile(None)
            if os.getpid() == ours:
                os.kill(ours, signal.SIGINT)

    sys.setprofile(interrupt)


def _part() -> None:
    part = supervisor.Part("part", lambda: time.sleep(PATIENCE_SECONDS), print)
    try:
        _stopped_at_a_fork()
        part.check()
    finally:
        part.stop()


def _maker_of_the_demo_network() -> None:
    _stopped_at_a_fork()
    with run.start_producing():
        time.sleep(PATIENCE_SECONDS)


def _in_a_session(work: Callable[[], None]) -> None:
    os.setsid()
    work()


@pytest.mark.parametrize("work", [_part, _maker_of_the_demo_network])
def test_part_ends_with_a_supervisor_stopped_during_its_start(
    work: Callable[[], None], tmp_path: Path, settings: Any
) -> None:
    settings.DATA_DIR = tmp_path
    process = begun(_in_a_session, work)
    try:
        process.join(PATIENCE_SECONDS)

        assert process.exitcode == 1, "not interrupted"
        assert in_session(process.pid or 0) == []
    finally:
        process.kill()


def _fails() -> None:
    raise ZeroDivisionError("so")


def test_unexpected_failure_of_a_part_is_logged(capfd: pytest.CaptureFixture[str]) -> None:
    process = begun(supervisor._run, "part", _fails)
    process.join()

    first, *trace = capfd.readouterr().err.splitlines()
    assert process.exitcode == 1
    assert " critical process_failed " in first
    assert trace[-1] == "ZeroDivisionError: so"
