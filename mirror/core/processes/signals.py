"""Signals that stop a node's processes, and the end of a process with its parent."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from mirror.core.processes import operating_system

STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_LATER_SECONDS = 0.01
_IMPORT_SYSTEM = "<frozen importlib."

# The event that a signal sets; before `stop_event` is called one that nothing sets.
_stopping = threading.Event()


def stop_event() -> threading.Event:
    """Return an event that SIGTERM and Ctrl-C set from now on, instead of ending the process."""
    global _stopping
    stopping = _stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    return stopping


def pause(seconds: float) -> None:
    """Wait, but no longer than until a signal sets the event of `stop_event`."""
    _stopping.wait(seconds)


class Stop(KeyboardInterrupt):
    """A signal asks to stop.

    It is a class of its own, as a KeyboardInterrupt that has left `exec`, by which dataclasses are made, has
    Python end with the status of a process that SIGINT has killed, even if it was caught later.
    """


def raise_on_stop() -> None:
    """Have the first stop signal raise Stop in the main thread from now on, and the others do nothing.

    An import may swallow an exception or be left half done by it, and Python ignores one that is raised in a
    callback of the collector: Stop is raised after the import, and once more after such a callback.
    """
    # A signal that was ignored from the start (nohup) stays ignored.
    numbers = [number for number in STOP if signal.getsignal(number) is not signal.SIG_IGN]
    others = sys.unraisablehook

    def listen() -> None:
        for number in numbers:
            signal.signal(number, stop)

    def stop(number: int, frame: FrameType | None) -> None:
        if _is_importing(frame):
            _send_later(number)
            return
        for each in numbers:
            signal.signal(each, signal.SIG_IGN)
        raise Stop

    def ignored(unraisable: "sys.UnraisableHookArgs") -> None:
        if issubclass(unraisable.exc_type, Stop):
            _send_later(numbers[0])
            listen()
        else:
            others(unraisable)

    sys.unraisablehook = ignored
    listen()


def _is_importing(frame: FrameType | None) -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORT_SYSTEM):
            return True
        frame = frame.f_back
    return False


def _send_later(number: int) -> None:
    """Send this process a signal after a pause, unless `signals_blocked` holds it back then."""
    signal.signal(signal.SIGALRM, lambda *_: signal.raise_signal(number))
    signal.setitimer(signal.ITIMER_REAL, _LATER_SECONDS)


@contextmanager
def signals_blocked() -> Iterator[None]:
    """Hold back the stop signals while a process is started, and noted where it is stopped.

    A new process first has the handlers of its parent, which would end both in disorder. A copy of this one
    has to call `start_supervised`; another program has to allow the signals by itself, as PostgreSQL does.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def start_supervised() -> None:
    """Give this process, just started by the supervisor, a group of its own and the default signal handlers.

    Ctrl-C in the terminal reaches only the supervisor, which stops the others in order.
    """
    os.setpgid(0, 0)
    for number in STOP:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP)


def end_with_parent(number: int = signal.SIGTERM) -> None:
    """Have this process get a signal when its parent is gone, however that ended."""
    # A parent that is gone already is known to multiprocessing alone.
    parent = multiprocessing.parent_process()
    operating_system.signal_after(os.getppid() if parent is None else parent.pid, number)
