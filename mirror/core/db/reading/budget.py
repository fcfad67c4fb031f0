"""The time that one answer may take, shared by its statements.

A list that can't be read within it is read in windows (`mirror.core.db.sql.windowed_scan`), and its page may
be short. Any other statement that has no time left ends as psycopg.errors.QueryCanceled.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mirror.core import config

#: The setting; 0 leases it off.
SETTING = "rest.query.timeBudget"

# What a statement gets that is not part of a walk, however late: a short page may need further ones.
_LEAST_SECONDS = 0.25
# Before so much of the budget is spent, statements share one limit, as each change of it costs a statement.
_FRESH = 0.75


class _Local(threading.local):
    """The budget of the request that a thread works on, and the limit of a walk's statement."""

    total = 0.0
    began = 0.0
    limit: float | None = None


_local = _Local()


def begin() -> None:
    """Begin the budget of a request in this thread."""
    _local.total = config.value(SETTING)
    _local.began = time.monotonic()


def end() -> None:
    """End it: statements have the time of their setting again."""
    _local.total = 0.0


def postpone(seconds: float) -> None:
    """Leave time out that the request has only waited."""
    _local.began += seconds


def total() -> float:
    """Return the seconds of the whole budget; 0 without one."""
    return _local.total


def left() -> float:
    """Return the seconds that are left, negative when it is overdrawn."""
    return _local.total - (time.monotonic() - _local.began)


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Limit each statement in the block to so many seconds, whatever is left."""
    before, _local.limit = _local.limit, seconds
    try:
        yield
    finally:
        _local.limit = before


def limit(longest: float) -> float:
    """Return the seconds that the next statement may take, of at most `longest`."""
    if _local.limit is not None:
        return min(_local.limit, longest)
    whole = _local.total
    if not whole:
        return longest
    remaining = left()
    return min(max(whole if remaining > whole * _FRESH else remaining, _LEAST_SECONDS), longest)
