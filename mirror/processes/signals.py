"""Signals that ask a node to stop, and the processes it consists of."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager

STOP = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@contextmanager
def held() -> Iterator[None]:
    """Let these signals wait while a process is started.

    Its first moments have the handlers of the one that starts it, which would end both in disorder. The new
    process has to call `leave_to_supervisor`.
    """
    before = signal.pthread_sigmask(signal.SIG_BLOCK, STOP)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def leave_to_supervisor() -> None:
    """Give a process that the supervisor has just started a group of its own and the default signals.

    Ctrl-C in the terminal is for the supervisor, which stops the others in order.
    """
    os.setpgid(0, 0)
    for number in STOP:
        signal.signal(number, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_UNBLOCK, STOP)
