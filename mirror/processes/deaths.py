"""Processes of the node that died: a line each in a file of the data folder, for `manage.py status`.

Any process of the node may write. The file is none of the database's, which may be what has died.
"""

import fcntl
import json
import signal
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

from django.conf import settings

_MOST_LINES = 200


@dataclass(frozen=True)
class Death:
    """A process that died: when (seconds since the epoch), which, and why as a sentence goes on."""

    at: float
    process: str
    why: str


def noted(process: str, why: str) -> None:
    """Keep that a process has died; where nothing can be written, the log alone tells."""
    line = json.dumps(asdict(Death(time.time(), process, why)))
    with suppress(OSError), _file().open("a+") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.seek(0)
        lines = [*file.read().splitlines()[1 - _MOST_LINES :], line]
        file.truncate(0)
        file.write("".join(f"{each}\n" for each in lines))


def recent(seconds: float) -> Iterator[Death]:
    """The deaths of the last so many seconds, the latest first."""
    try:
        lines = _file().read_text().splitlines()
    except OSError:
        return
    for line in reversed(lines):
        with suppress(ValueError, TypeError):
            death = Death(**json.loads(line))
            if death.at >= time.time() - seconds:
                yield death


def why(exit_code: int | None) -> str:
    """How a process ended, by its exit code as `subprocess` and `multiprocessing` give it."""
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
