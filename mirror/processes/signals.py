"""Signals that ask a node's processes to stop, and the end of a process with its parent."""

import ctypes
import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager

STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

_PR_SET_PDEATHSIG = 1

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


def begin_in_order() -> None:
    """Have Ctrl-C raise KeyboardInterrupt from now on; until then `manage.py` ends at once."""
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextmanager
def held() -> Iterator[None]:
    """Hold back the stop signals while a process is started, and noted where it is stopped.

    A new process first has the handlers of its parent, which would end both in disorder. A copy of this one
    has to call `leave_to_supervisor`; another program has to allow the signals by itself, as PostgreSQL does.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    try:
        signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_to_supervisor() -> None:
    """Give this process, just started by the supervisor, a group of its own and the default signal handlers.

    Ctrl-C in the terminal reaches only the supervisor, which stops the others in order.
    """
    os.setpgid(0, 0)
    for number in STOP:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP)


def end_with_parent() -> None:
    """Have the kernel send this process SIGTERM when its parent is gone, however that ended."""
    # A parent that is gone already is known to multiprocessing alone.
    parent = multiprocessing.parent_process()
    parent_pid = os.getppid() if parent is None else parent.pid
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != parent_pid:
        os.kill(os.getpid(), signal.SIGTERM)
