"""Checks that a thread repeats for as long as its process runs."""

import threading
import time
from collections.abc import Callable

from mirror.core import logs

log = logs.logger("mirror.web")

#: Returns after how many seconds it is due again.
Check = Callable[[], float]

_PAUSE_SECONDS = 1.0


def repeat(*checks: Check) -> None:
    """Repeat checks in this thread, for ever: also after an error, such as one of a full table of files."""
    due = dict.fromkeys(checks, 0.0)
    while True:
        check = min(due, key=due.__getitem__)
        time.sleep(max(due[check] - time.monotonic(), 0.0))
        try:
            pause = check()
        except Exception:
            log.error("unexpected_error", exc_info=True)
            pause = _PAUSE_SECONDS
        due[check] = time.monotonic() + pause


def start(*checks: Check) -> None:
    """Repeat checks in a thread of their own."""
    threading.Thread(target=repeat, args=checks, daemon=True).start()
