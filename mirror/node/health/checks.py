"""The health of the node, for health checks, metrics, `manage.py status` and the admin.

A node is ready if its answers are right and up to date: its database answers, with the tables of this release
and the network's address book. A node that follows a stream is not ready while it is stuck, or further behind
than health.maxLag. For one that follows nothing, such as the plain demo, any age is right.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from django.db import ProgrammingError
from psycopg.errors import InsufficientPrivilege

from mirror.core import config
from mirror.core.db import statements
from mirror.core.db.availability import bounded_query, outage
from mirror.core.db.distribution import cluster
from mirror.core.db.replicas import configured_servers
from mirror.core.values.human_readable import duration
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.models import LoaderState
from mirror.node.health import replicas, status
from mirror.node.health.facts import Block
from mirror.node.health.status import Status

#: A health check is answered within two seconds.
PATIENCE_SECONDS = 1.5
# A result is cached for so long, since there may be many requests for it.
_HOLDS_SECONDS = 1.0

# Index: the primary key.
_BOOK = "select exists (select from address_book)"


@dataclass(frozen=True)
class Health:
    """The result of a check; `reasons` are sentences: why the node is not ready."""

    reasons: tuple[str, ...]
    #: Whether the database answers: the primary, if there are replicas.
    database: bool
    #: None unless the database answers and has the tables of this release.
    status: Status | None = None

    @property
    def ready(self) -> bool:
        return not self.reasons

    @property
    def block(self) -> Block | None:
        """The last block, None without any and while the database is not available."""
        return self.status.block if self.status else None

    @property
    def lag_seconds(self) -> float | None:
        """The seconds from the last block to now."""
        if self.status is None or self.block is None:
            return None
        return max(self.status.now - self.block.consensus_end, 0) / NANOS_PER_SECOND


def check_health(seconds: float = PATIENCE_SECONDS, read: Callable[[], Health] | None = None) -> Health:
    """Return the health now, after `seconds` at the latest.

    While the primary of replicas does not answer, the result is that of the best replica.
    """
    all_replicas = configured_servers()[:-1]
    if all_replicas:
        # The other half is for the replicas.
        seconds /= 2
    try:
        return bounded_query.run_query(read or check_database, seconds)
    except bounded_query.QueryTimeout as error:
        reason = str(error)
    except outage.ERRORS as error:
        if isinstance(error, ProgrammingError):
            return Health((_unreadable(error),), True)
        reason = str(error).strip().partition("\n")[0]
    away = Health((f"The database does not answer: {reason.rstrip('.')}.",), False)
    healths = replicas.query_each(all_replicas, partial(check_database, is_primary_away=True), seconds)
    return max(
        (replace(health, database=False) for health in healths if isinstance(health, Health)),
        key=lambda health: (health.ready, health.block.number if health.block else 0),
        default=away,
    )


def _unreadable(error: ProgrammingError) -> str:
    """Return why the tables can't be read."""
    if not isinstance(error.__cause__, InsufficientPrivilege):
        return "The database lacks tables of this release: `manage.py migrate` makes them."
    reason = outage.reason(error).rstrip(".")
    return f"The role of the database may not read it ({reason}): `manage.py grant` lets it."


def check_database(*, is_primary_away: bool = False) -> Health:
    """Return the health by the database; `is_primary_away` of a replica. Errors: DatabaseError."""
    now = status.read()
    return Health(tuple(reasons(now, is_primary_away=is_primary_away)), True, now)


def reasons(now: Status, *, is_primary_away: bool = False) -> list[str]:
    """Return in sentences why a node with this status is not ready. Errors: DatabaseError."""
    has_book = statements.value(_BOOK)
    silent = cluster.unresponsive_workers()
    reasons = []
    if silent:
        reasons.append(f"Workers of the database do not answer: {', '.join(silent)}.")
    if not has_book:
        reasons.append("The network's address book is not loaded yet.")
    if now.standby and (late := replicas.reason(is_primary_away=is_primary_away)):
        reasons.append(late)
    if not _follows(now):
        return reasons
    if now.needs_operator:
        reasons.append(now.sentence)
    elif now.waits_for_clock:
        reasons.append(now.clock_sentence)
    longest: float = config.value("health.maxLag")
    if longest and (now.block is None or (now.lag_seconds or 0) > longest):
        reasons.append(_late(now, longest))
    return reasons


def _follows(now: Status) -> bool:
    """Return whether the node follows a stream, or should: a demo network that was stopped ends there."""
    loader = now.loader
    if not (loader and loader["following"]):
        return False
    is_stopped: bool = loader["activity"] == LoaderState.Activity.STOPPED
    return not is_stopped or config.value("network") != status.DEMO


def _late(now: Status, longest: float) -> str:
    if now.block is None:
        return "No block is loaded yet."
    old, allowed = duration(now.lag_seconds or 0), duration(round(longest))
    return f"The last block is {old} old, and health.maxLag allows {allowed}."


class HealthCheck:
    """The cached health: of simultaneous requests one reads the database."""

    def __init__(self, seconds: float = PATIENCE_SECONDS) -> None:
        self._seconds = seconds
        self._lock = threading.Lock()
        self._last: Health | None = None
        self._until = 0.0

    def check(self) -> Health:
        with self._lock:
            if self._last is None or time.monotonic() > self._until:
                self._last = check_health(self._seconds)
                self._until = time.monotonic() + _HOLDS_SECONDS
            return self._last
