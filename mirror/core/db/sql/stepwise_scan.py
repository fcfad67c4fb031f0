"""Lists that skip rows, such as slots without a value at a time: they are read some steps at a time.

A step looks at one row of the list's index, whether or not it belongs to the page. Each statement takes a
limited number of steps; another one goes on after it, until the page is full or the time budget is spent.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

from mirror.core.db.reading import budget

Found = TypeVar("Found")

#: The steps of one statement, which takes a few milliseconds.
STEPS = 1000


def scan_stepwise(
    read: Callable[[bytes | None], tuple[Sequence[Found], bytes | None]], limit: int
) -> tuple[list[Found], bytes | None]:
    """Return a page, and the key after which the next one continues if time ran out before this one was full.

    `read` returns the rows among the next steps after a key, up to the limit, and the last key it looked at;
    None instead of that at the end of the list.
    """
    rows: list[Found] = []
    after: bytes | None = None
    while True:
        found, after = read(after)
        rows += found
        if len(rows) >= limit or after is None:
            return rows[:limit], None
        if budget.total() and budget.remaining() <= 0:
            return rows, after
