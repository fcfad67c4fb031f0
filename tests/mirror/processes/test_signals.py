import signal
import threading
import time
from collections.abc import Iterator

import pytest

from mirror.processes import signals
from tests.waiting import PATIENCE_SECONDS


@pytest.fixture(autouse=True)
def _handlers() -> Iterator[None]:
    """Afterwards signals do again what they did."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    signals.stop_event()
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
