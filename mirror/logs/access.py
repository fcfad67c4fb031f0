"""The access log: a line for each answer, if `logging.access` is on.

Other lines take longer to make than a short answer does. So these have the same form, and are made here.
"""

import os
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson

from mirror import config
from mirror.logs.text import EVENT_WIDTH, LEVEL_WIDTH, value

EVENT, LEVEL, LOGGER = "request", "info", "mirror.access"
KEYS = ("method", "path", "status", "ms", "rows", "bytes", "client", "request_id")

_STANDARD_ERROR = 2
_VALUES = " ".join(f"{key}=%s" for key in (*KEYS, "logger"))
_TEXT = f"%s {LEVEL:{LEVEL_WIDTH}} {EVENT:{EVENT_WIDTH}} {_VALUES}\n"


def log() -> Callable[..., None] | None:
    """Return what writes a line with the values of KEYS; None if there is no access log."""
    if not config.value("logging.access"):
        return None
    make = _object if config.value("logging.format") == "json" else _text

    def write(*values: Any) -> None:
        try:
            os.write(_STANDARD_ERROR, make(_now(), values))
        except OSError:
            # Nobody reads, or the disk is full: the node goes on.
            return

    return write


def _now() -> str:
    return f"{datetime.now(UTC).isoformat(timespec='milliseconds')[:-6]}Z"


def _text(now: str, values: tuple[Any, ...]) -> bytes:
    shown = [value(each) if isinstance(each, str) else each for each in values]
    return (_TEXT % (now, *shown, LOGGER)).encode(errors="backslashreplace")


def _object(now: str, values: tuple[Any, ...]) -> bytes:
    line = {
        "time": now,
        "level": LEVEL,
        "event": EVENT,
        **dict(zip(KEYS, values, strict=True)),
        "logger": LOGGER,
    }
    return orjson.dumps(line, option=orjson.OPT_APPEND_NEWLINE)
