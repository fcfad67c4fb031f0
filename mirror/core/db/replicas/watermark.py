"""The newest block known to the processes of a node without replicas: no cached answer is older than it.

A request that may be answered from a cache reads it if any answer has been computed since it was last read.
Computed answers need it only as the least that they rest on, so one request in a while reads it for them.
"""

from mirror.core.db.availability import outage
from mirror.core.db.replicas import block_requirement
from mirror.core.db.replicas.shared_state import NO_BLOCK, Scoreboard
from mirror.core.db.scheduling import request_scheduler
from mirror.core.db.scheduling.request_scheduler import ClientDisconnected, TooManySlowRequests

_RECENT_SECONDS = 0.05

#: What the processes share; `mirror.core.db.replicas.reading.use` sets it.
scoreboard: Scoreboard | None = None


def refresh(*, for_cached: bool) -> int:
    """Return the newest known block, which every answer computed from now on has; it may run a statement.

    `for_cached`: no answer of any process may have a newer one. While the database is away it is the one
    known before.
    """
    if scoreboard is None:
        return NO_BLOCK
    # What is answered without a lease needs no database, and does not wait for it.
    if not request_scheduler.is_without_lease() and not (
        scoreboard.is_current if for_cached else scoreboard.seconds_since_check < _RECENT_SECONDS
    ):
        scoreboard.record_check()
        try:
            scoreboard.record_answered(block_requirement.latest())
        except (TooManySlowRequests, ClientDisconnected, *outage.ERRORS):
            pass
    return scoreboard.newest_answered


def record_computed() -> None:
    """Note that an answer has been computed, which may have a newer block than is known."""
    if scoreboard is not None:
        scoreboard.record_computed()


def is_fresh(block: int) -> bool:
    """Return whether a cached answer of this block is as new as all answers of the node."""
    return scoreboard is None or (scoreboard.is_current and block >= scoreboard.newest_answered)
