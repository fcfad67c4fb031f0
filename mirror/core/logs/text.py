"""A line of the log for people: time, level, event and keys, in colours on a terminal."""

import json
import re
from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

from structlog.dev import Column, ConsoleRenderer, KeyValueColumnFormatter, plain_traceback

Event = MutableMapping[str, Any]

_RESET, _BRIGHT, _DIM, _RED, _YELLOW, _GREEN, _CYAN = (f"\033[{code}m" for code in (0, 1, 2, 31, 33, 32, 36))
_LEVEL_COLOURS = {"critical": _RED, "error": _RED, "warning": _YELLOW, "info": _GREEN, "debug": _DIM}
LEVEL_WIDTH, EVENT_WIDTH = 8, 24
_QUOTED = re.compile(r'[\s"\\]')


#: Keys whose values take lines of their own, below that of the event.
DETAILS = ("statements", "plan")


def renderer(*, colours: bool) -> Callable[[Any, str, Event], str]:
    """Return what makes a line of an event's keys, and those below it."""
    line = _line(colours=colours)

    def render(logger: Any, method: str, event: Event) -> str:
        below = [(key, event.pop(key)) for key in DETAILS if key in event]
        return "\n".join([line(logger, method, event), *(each for item in below for each in _detail(*item))])

    return render


def _detail(key: str, value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield f"    {key}:"
        yield from (f"        {_printable(line)}" for line in value.splitlines())
        return
    for entry in value or ():
        about = (f"{name}={_printable(each)}" for name, each in entry.items() if name != "sql")
        yield f"    statement: {' '.join(about)}"
        yield from (f"        {_printable(line)}" for line in str(entry["sql"]).splitlines())


def _line(*, colours: bool) -> ConsoleRenderer:
    reset = _RESET if colours else ""

    def column(style: str, width: int = 0) -> KeyValueColumnFormatter:
        return KeyValueColumnFormatter(None, style if colours else "", reset, _printable, width)

    levels = {name: column(style, LEVEL_WIDTH) for name, style in _LEVEL_COLOURS.items()}
    key = KeyValueColumnFormatter(_CYAN if colours else "", "", reset, value)
    return ConsoleRenderer(
        columns=[
            Column("", key),
            Column("time", column(_DIM)),
            Column("level", lambda name, level: levels[str(level)](name, level)),
            Column("event", column(_BRIGHT, EVENT_WIDTH)),
        ],
        exception_formatter=plain_traceback,
        sort_keys=False,
    )


def _printable(value: object) -> str:
    """Return a text in which no character can begin a line of its own, or move on a terminal."""
    text = str(value)
    return text if text.isprintable() else json.dumps(text)[1:-1]


def value(value: object) -> str:
    """Return a value as it stands after its key; quoted, unless that is plain where it ends."""
    text = str(value)
    if text.isprintable() and text and not _QUOTED.search(text):
        return text
    return json.dumps(text, ensure_ascii=not text.isprintable())
