"""The time budget of a list, of which each statement may take a quarter.

A list that takes longer is read in windows (`mirror.core.db.reading.scans`), and its page may be short:
such statements run within `limited`, and end there as psycopg.errors.QueryCanceled. Any other statement is
run again for as long as rest.db.statementTimeout allows, as its answer has no shorter form.
"""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from mirror.core import config

#: The setting; 0 turns it off.
SETTING = "rest.query.timeBudget"

# The part of the budget that a statement may take: the same for all, as each change of it costs a statement.
_SHARE = 0.25


class _Local(threading.local):
    """The budget of the request that a thread works on, and the limit of statements that may end early."""

    total = 0.0
    began = 0.0
    is_slow = False
    limit: float | None = None


_local = _Local()


def begin() -> None:
    """Begin the budget of a request in this thread."""
    _local.total = config.value(SETTING)
    _local.began = time.monotonic()
    _local.is_slow = False


def end() -> None:
    """End it: the setting limits statements again."""
    _local.total = 0.0
    _local.is_slow = False


def is_slow() -> bool:
    """Return whether a statement of the request has turned out to be slow."""
    return _local.is_slow


def become_slow() -> None:
    """Read by the connections of slow requests until the end of this one."""
    _local.is_slow = True


def extend(seconds: float) -> None:
    """Extend the budget by time that the request has only waited."""
    _local.began += seconds


def total() -> float:
    """Return the seconds of the whole budget; 0 without one."""
    return _local.total


def remaining() -> float:
    """Return the seconds that are left, negative when it is overdrawn."""
    return _local.total - (time.monotonic() - _local.began)


def share() -> float:
    """Return the seconds of the budget that one statement may take; 0 without a budget."""
    return _local.total * _SHARE


@contextmanager
def limited(seconds: float) -> Iterator[None]:
    """Limit each statement in the block to so many seconds; it is not run again."""
    previous, _local.limit = _local.limit, seconds
    try:
        yield
    finally:
        _local.limit = previous


def limit(longest: float) -> float:
    """Return the seconds that the next statement may take, of at most `longest`."""
    seconds = share() if _local.limit is None else _local.limit
    return min(seconds or longest, longest)


def may_run_again(longest: float) -> bool:
    """Return whether a statement that took too long may take longer than its share."""
    return _local.limit is None and limit(longest) < longest
