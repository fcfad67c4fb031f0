"""The statements of a request: their text, duration and number of rows.

A thread notes them between `begin` and `end`.
"""

import threading
from collections.abc import Callable
from time import monotonic
from typing import Any, NamedTuple

from mirror.core.db.statements import Values


class Statement(NamedTuple):
    """A statement that has ended. It has no values if they may be secret, and no rows if it failed."""

    text: str
    values: Values | None
    seconds: float
    rows: int | None


#: What a Statement has. A request makes some of these, but only a slow one needs names for their parts.
Noted = tuple[str, Values | None, float, int | None]


class _Local(threading.local):
    noted: list[Noted] | None = None
    #: Seconds that the request has waited for connections.
    waited = 0.0


local = _Local()


def begin() -> None:
    """Begin to note the statements of a request that this thread works on."""
    local.noted, local.waited = [], 0.0


def end() -> list[Noted]:
    """Return the statements since then, and note no more."""
    noted, local.noted = local.noted, None
    return noted or []


def noted_by_django(
    execute: Callable[..., Any], text: str, values: Any, many: bool, context: dict[str, Any]
) -> Any:
    """Record the statements of Django's own cursor, such as the admin's, whose values may be secret."""
    if local.noted is None:
        return execute(text, values, many, context)
    began, rows = monotonic(), None
    try:
        result = execute(text, values, many, context)
        rows = max(context["cursor"].rowcount, 0)
        return result
    finally:
        if local.noted is not None:
            local.noted.append((text, None, monotonic() - began, rows))
