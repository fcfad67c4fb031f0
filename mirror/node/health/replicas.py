"""The replicas of the database as `manage.py status`, the admin, metrics and health checks show them."""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, TypeVar

from mirror.core import config
from mirror.core.db import statements
from mirror.core.db.availability import bounded_query, outage
from mirror.core.db.replicas import LAG, MAX_LAG, UNREPLAYED, Server, configured_servers
from mirror.core.values.human_readable import duration

Result = TypeVar("Result")

_PATIENCE_SECONDS = 2.5
# Index: the primary key (consensus_end).
_STATE = f"select (select index from record_file order by consensus_end desc limit 1), {LAG}, {UNREPLAYED}"


@dataclass(frozen=True)
class Replica:
    """A replica as it is now; `reason` says why it does not answer."""

    name: str
    block: int | None = None
    lag_seconds: float = 0.0
    lag_blocks: int = 0
    reason: str | None = None

    @property
    def state(self) -> str:
        if self.reason is not None:
            return "away"
        return "behind" if self.lag_seconds > config.value(MAX_LAG) else "well"

    @property
    def text(self) -> str:
        if self.reason is not None:
            return f"{self.name} does not answer: {self.reason}"
        blocks = f"{self.lag_blocks:,} block{'' if self.lag_blocks == 1 else 's'}"
        seconds = round(self.lag_seconds)
        old = f"{duration(seconds)} and {blocks} behind" if seconds else f"{blocks} behind"
        if self.state == "behind":
            return f"{self.name} is {old}, and left out for that"
        return f"{self.name} is {old}" if self.lag_blocks else f"{self.name} has everything"

    @property
    def json(self) -> Mapping[str, Any]:
        return {
            "name": self.name,
            "state": self.state,
            "block": self.block,
            "seconds_behind": round(self.lag_seconds, 3),
            "blocks_behind": self.lag_blocks,
            "reason": self.reason,
        }


def read() -> list[Replica]:
    """Return the replicas of the settings; none if there are none."""
    all_servers = configured_servers()
    states = query_each(all_servers, lambda: statements.row(_STATE), _PATIENCE_SECONDS)
    newest = max((each[0] or 0 for each in states if not isinstance(each, str)), default=0)

    def replica(server: Server, state: Any) -> Replica:
        if isinstance(state, str):
            return Replica(server.name, reason=state)
        block, lag, unreplayed = state
        # A replica without a primary receives nothing.
        seconds = unreplayed if isinstance(states[-1], str) else lag
        return Replica(server.name, block, max(seconds, 0.0), newest - (block or 0))

    return list(map(replica, all_servers[:-1], states[:-1]))


def query_each(servers: Sequence[Server], query: Callable[[], Result], seconds: float) -> list[Result | str]:
    """Return what each server answers, or why it does not."""

    def answer(server: Server) -> Result | str:
        try:
            return bounded_query.run_query(query, seconds, server.settings)
        except (bounded_query.QueryTimeout, *outage.ERRORS) as error:
            return outage.reason(error)

    with ThreadPoolExecutor(len(servers) or 1) as threads:
        return list(threads.map(answer, servers))


def reason(*, is_primary_away: bool = False) -> str | None:
    """Return why a node is not ready whose database is a replica itself. Errors: DatabaseError."""
    seconds = statements.value(f"select {UNREPLAYED if is_primary_away else LAG}")
    if seconds <= config.value(MAX_LAG):
        return None
    most = duration(round(config.value(MAX_LAG)))
    return f"The database is a replica, which is {duration(round(seconds))} behind: {MAX_LAG} allows {most}."
