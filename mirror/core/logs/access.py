"""The access log: a line for each answer, if `logging.access` is on.

Making one of the other lines takes longer than a short answer does, and writing it lets other threads go
first. So these have the same form, and are made and written here, a few times a second.
"""

import os
import select
import threading
import time
from collections import deque
from contextlib import suppress
from datetime import UTC, datetime
from multiprocessing.util import Finalize
from typing import Any

import orjson

from mirror.core import config
from mirror.core.logs.text import EVENT_WIDTH, LEVEL_WIDTH, value

EVENT, LEVEL, LOGGER = "request", "info", "mirror.access"
KEYS = ("method", "path", "status", "ms", "rows", "bytes", "client", "request_id")

_STANDARD_ERROR = 2
# Of the tasks at the end of a process.
_LAST = -100
_SECONDS_BETWEEN_WRITES, _MAX_LINES = 0.25, 100_000
_VALUES = " ".join(f"{key}=%s" for key in (*KEYS, "logger"))
_TEXT = f"%s {LEVEL:{LEVEL_WIDTH}} {EVENT:{EVENT_WIDTH}} {_VALUES}\n"


class AccessLog:
    def __init__(self) -> None:
        self._make = _object if config.value("logging.format") == "json" else _text
        # If they can't be written, the oldest make room.
        self._waiting: deque[tuple[float, tuple[Any, ...]]] = deque(maxlen=_MAX_LINES)
        self._lock = threading.Lock()
        self._is_written = False

    def __call__(self, *values: Any) -> None:
        """Add a line with the values of KEYS."""
        self._waiting.append((time.time(), values))
        if not self._is_written:
            self._is_written = True
            # At the end of whatever process: one that a fork has made does not know of `atexit`.
            Finalize(None, self.write, exitpriority=_LAST)
            threading.Thread(target=self._write_loop, name="access log", daemon=True).start()

    def _write_loop(self) -> None:
        while True:
            time.sleep(_SECONDS_BETWEEN_WRITES)
            self.write()

    def write(self) -> None:
        """Write the lines so far, in pieces that those of other processes don't get into."""
        with self._lock:
            chunk = b""
            while self._waiting:
                answered, values = self._waiting.popleft()
                line = self._make(_text_of(answered), values)
                if len(chunk) + len(line) > select.PIPE_BUF:
                    _write(chunk)
                    chunk = b""
                chunk += line
            _write(chunk)


def log() -> AccessLog | None:
    return AccessLog() if config.value("logging.access") else None


def _write(chunk: bytes) -> None:
    # If the pipe has no reader, or the disk is full, the node continues.
    with suppress(OSError):
        os.write(_STANDARD_ERROR, chunk)


def _text_of(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC).isoformat(timespec='milliseconds')[:-6]}Z"


def _text(answered: str, values: tuple[Any, ...]) -> bytes:
    texts = [value(each) if isinstance(each, str) else each for each in values]
    return (_TEXT % (answered, *texts, LOGGER)).encode(errors="backslashreplace")


def _object(answered: str, values: tuple[Any, ...]) -> bytes:
    line = {
        "time": answered,
        "level": LEVEL,
        "event": EVENT,
        **dict(zip(KEYS, values, strict=True)),
        "logger": LOGGER,
    }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
