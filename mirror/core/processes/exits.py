"""Processes of the node that died: one line each in a file of the data folder, for `manage.py status`.

Any process of the node may write to it. It is not in the database, since that may be what has died.
"""

import json
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings

from mirror.core import logs
from mirror.core.processes.files import try_lock

log = logs.logger("mirror.node")

_MAX_LINES = 200
# How long a process waits for others that write.
_LOCK_SECONDS = 1.0
# Of the pauses before a process that died is started again.
_FIRST, _LONGEST = 1.0, 60.0
# What lives longer has worked: whatever ended it, it works again after a new start.
_YOUNG_SECONDS = 10.0


@dataclass(frozen=True)
class Death:
    """A process that died: when (seconds since the epoch), its name, and the rest of a sentence: why."""

    at: float
    process: str
    why: str


def record(process: str, reason: str, pause: float = 0) -> None:
    """Log and record a death, and the pause (seconds) before a new start; the file may not be writable."""
    log.error("process_died", process=process, reason=reason, pause_s=round(pause))
    line = json.dumps(asdict(Death(time.time(), process, reason)))
    with suppress(OSError), _file().open("a+") as file:
        if not try_lock(file, _LOCK_SECONDS):
            return
        file.seek(0)
        lines = [*file.read().splitlines()[1 - _MAX_LINES :], line]
        file.truncate(0)
        file.write("".join(f"{line}\n" for line in lines))


def recent(seconds: float) -> Iterator[Death]:
    """Yield the deaths of the last so many seconds, the latest first."""
    try:
        lines = _file().read_text().splitlines()
    except OSError:
        return
    for line in reversed(lines):
        with suppress(ValueError, TypeError):
            death = Death(**json.loads(line))
            if death.at >= time.time() - seconds:
                yield death


def reason(exit_code: int | None) -> str:
    """Return the end of a process in words, by its exit code in `subprocess` and `multiprocessing`."""
    if exit_code is None:
        return "ended"
    if exit_code >= 0:
        return f"ended with exit code {exit_code}"
    try:
        name = signal.Signals(-exit_code).name
    except ValueError:
        name = f"signal {-exit_code}"
    by_whom = ", by someone or by the system for want of memory" if -exit_code == signal.SIGKILL else ""
    return f"was killed by {name}{by_whom}"


def _file() -> Path:
    return Path(settings.DATA_DIR, "deaths.jsonl")


class Backoff:
    """The pauses of one process: none at first, then growing while it dies young."""

    def __init__(self) -> None:
        self._next = 0.0

    def after(self, lived: float) -> float:
        """Return the pause after a life of so many seconds."""
        if lived > _YOUNG_SECONDS:
            self._next = 0.0
        pause = self._next
        self._next = min(max(pause * 2, _FIRST), _LONGEST)
        return pause
