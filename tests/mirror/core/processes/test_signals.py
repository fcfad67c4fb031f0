import importlib
import signal
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings

from mirror.core.processes import signals
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Afterwards signals do again what they did."""
    before = {number: signal.getsignal(number) for number in (*signals.STOP, signal.SIGALRM)}
    hook = sys.unraisablehook
    yield
    signals.stop_event()
    sys.unraisablehook = hook
    for number, handler in before.items():
        signal.signal(number, handler)


def test_a_pause_ends_when_a_signal_asks_to_stop_and_later_ones_do_not_begin() -> None:
    stopping = signals.stop_event()
    began = time.monotonic()
    main = threading.main_thread().ident
    assert main is not None
    threading.Timer(0.05, signal.pthread_kill, [main, signal.SIGTERM]).start()
    signals.pause(PATIENCE_SECONDS)
    assert stopping.is_set()
    signals.pause(PATIENCE_SECONDS)
    assert time.monotonic() - began < PATIENCE_SECONDS


def test_a_pause_lasts_as_long_as_it_should_while_nothing_asks_to_stop() -> None:
    signals.stop_event()
    began = time.monotonic()
    signals.pause(0.05)
    assert time.monotonic() - began >= 0.05


# STOPPING IN ORDER


SLOW_TO_IMPORT = """\
import signal
try:
    signal.raise_signal(signal.SIGINT)
except BaseException:
    pass
done = True
"""


class Thing:
    """Something whose end calls back."""


def test_a_stop_that_python_ignores_in_a_callback_is_raised_after_it() -> None:
    signals.raise_on_stop()
    thing = Thing()
    called: list[int] = []

    def gone(_: object) -> None:
        called.append(1)
        signal.raise_signal(signal.SIGTERM)

    reference = weakref.ref(thing, gone)
    with pytest.raises(signals.Stop):
        del thing
        time.sleep(PATIENCE_SECONDS)

    assert (called, reference()) == ([1], None)
    # Nothing interrupts the stopping.
    signal.raise_signal(signal.SIGTERM)


def test_other_errors_that_python_ignores_are_told_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda unraisable: told.append(unraisable.exc_value))
    signals.raise_on_stop()
    thing, error = Thing(), ValueError("gone")

    def gone(_: object) -> None:
        raise error

    reference = weakref.ref(thing, gone)
    del thing

    assert (told, reference()) == ([error], None)


def test_an_import_is_finished_before_a_stop_is_raised(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "slow_to_import.py").write_text(SLOW_TO_IMPORT)
    monkeypatch.syspath_prepend(tmp_path)
    signals.raise_on_stop()

    with pytest.raises(signals.Stop):
        importlib.import_module("slow_to_import")
        time.sleep(PATIENCE_SECONDS)

    assert sys.modules.pop("slow_to_import").done


def test_a_signal_that_is_ignored_from_the_start_stays_ignored() -> None:
    signal.signal(signal.SIGHUP, signal.SIG_IGN)

    signals.raise_on_stop()

    signal.raise_signal(signal.SIGHUP)


def test_a_stop_while_a_dataclass_is_made_leaves_the_exit_code_alone() -> None:
    program = (
        "import signal\n"
        "from mirror.core.processes import signals\n"
        "signals.raise_on_stop()\n"
        "try:\n"
        "    exec('signal.raise_signal(signal.SIGINT)')\n"
        "except signals.Stop:\n"
        "    print('Stopped.')\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=settings.BASE_DIR, capture_output=True, text=True, check=False
    )

    assert (done.returncode, done.stdout, done.stderr) == (0, "Stopped.\n", "")
