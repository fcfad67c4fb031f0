"""Work in the background of a loader: in a thread with a database connection of its own."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

from django.db import connections

_STOP_SECONDS, _INTERRUPT_SECONDS = 30.0, 0.5


@contextmanager
def in_background(
    name: str,
    work: Callable[[], object],
    stopping: threading.Event,
    *,
    interrupt: Callable[[], object] = lambda: None,
) -> Iterator[None]:
    """Run `work` in a thread for the length of the block, then set `stopping`.

    Until the thread has ended `interrupt` is called repeatedly, for half a minute at most.
    """

    def run() -> None:
        try:
            work()
        finally:
            connections.close_all()

    thread = threading.Thread(target=run, name=name, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopping.set()
        until = monotonic() + _STOP_SECONDS
        while thread.is_alive() and monotonic() < until:
            interrupt()
            thread.join(_INTERRUPT_SECONDS)
