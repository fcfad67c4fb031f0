"""A line of the log for people: time, level, event and keys, in colours on a terminal."""

import json

from structlog.dev import Column, ConsoleRenderer, KeyValueColumnFormatter, plain_traceback

_RESET, _BRIGHT, _DIM, _RED, _YELLOW, _GREEN, _CYAN = (f"\033[{code}m" for code in (0, 1, 2, 31, 33, 32, 36))
_OF_LEVEL = {"critical": _RED, "error": _RED, "warning": _YELLOW, "info": _GREEN, "debug": _DIM}
_LEVEL_WIDTH, _EVENT_WIDTH = 8, 24
_QUOTED = frozenset(" \"'=\\")


def renderer(*, colours: bool) -> ConsoleRenderer:
    """Return what makes a line of an event's keys."""
    reset = _RESET if colours else ""

    def column(style: str, width: int = 0) -> KeyValueColumnFormatter:
        return KeyValueColumnFormatter(None, style if colours else "", reset, _printable, width)

    levels = {name: column(style, _LEVEL_WIDTH) for name, style in _OF_LEVEL.items()}
    key = KeyValueColumnFormatter(_CYAN if colours else "", "", reset, _value)
    return ConsoleRenderer(
        columns=[
            Column("", key),
            Column("time", column(_DIM)),
            Column("level", lambda name, level: levels[str(level)](name, level)),
            Column("event", column(_BRIGHT, _EVENT_WIDTH)),
        ],
        exception_formatter=plain_traceback,
        sort_keys=False,
    )


def _printable(value: object) -> str:
    """Return a text in which no character can begin a line of its own, or move on a terminal."""
    text = str(value)
    return text if text.isprintable() else json.dumps(text)[1:-1]


def _value(value: object) -> str:
    text = str(value)
    if not text or not text.isprintable() or _QUOTED & set(text):
        return json.dumps(text, ensure_ascii=not text.isprintable())
    return text
