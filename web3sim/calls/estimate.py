"""The gas estimate of a call: a limit that suffices, found by halving.

The search ends early, with a limit somewhat above the least one, where that saves attempts: each costs as
much as the call itself.
"""

from collections.abc import Callable
from typing import NamedTuple


class Search(NamedTuple):
    """`tolerance` is a share of the gas used at first; `max_attempts` those after the first run."""

    tolerance: float
    max_attempts: int


def minimum_gas(used: int, limit: int, search: Search, suffices: Callable[[int], bool]) -> int:
    """A gas limit for a call that used `used` under `limit`; `suffices` runs it under another."""
    if used >= limit:
        return used
    low, high, previous = used, limit, used
    tolerance = int(low * search.tolerance)
    attempts = 0
    while low + 1 < high and attempts < search.max_attempts:
        attempts += 1
        middle = (low + high) // 2
        if suffices(middle):
            high = middle
            if abs(previous - middle) < tolerance:
                low = high
        else:
            low = middle
        previous = middle
    return high
