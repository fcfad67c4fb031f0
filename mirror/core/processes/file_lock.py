"""Locks of files, which the kernel takes back from a process that dies."""

import fcntl
import time
from typing import IO

_POLL_SECONDS = 0.01


def try_lock(file: int | IO[str], seconds: float = 0.0) -> bool:
    """Lock an open file, unless another opening of it stays locked for so long; return whether it is.

    A process that was stopped may hold a lock for ever, so nothing waits for one without a limit.
    """
    deadline = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
        time.sleep(_POLL_SECONDS)
