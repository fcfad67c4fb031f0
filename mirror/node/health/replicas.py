"""The replicas of the database as `manage.py status`, the admin, metrics and health checks show them.

A web server process reads what the watcher of the node has found out. A command queries each server itself.
"""

from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

from mirror.core import config
from mirror.core.db import statements
from mirror.core.db.availability import outage
from mirror.core.db.reading import bounded_query
from mirror.core.db.replicas import block_requirement, servers, watching
from mirror.core.db.replicas.servers import Server
from mirror.core.db.replicas.shared_state import NO_BLOCK, State
from mirror.core.db.replicas.watching import MAX_LAG, ServerState
from mirror.core.values.human_readable import duration

_PATIENCE_SECONDS = 2.5


@dataclass(frozen=True)
class Replica:
    """The state of a replica; `reason` says why it does not answer."""

    name: str
    state: State
    block: int = NO_BLOCK
    lag_seconds: float = 0.0
    lag_blocks: int = 0
    reason: str = ""

    @property
    def text(self) -> str:
        if self.state is State.AWAY:
            return f"{self.name} does not answer{f': {self.reason}' if self.reason else ''}"
        if self.state is State.UNKNOWN:
            return f"{self.name} has not been asked yet"
        blocks = f"{self.lag_blocks:,} block{'' if self.lag_blocks == 1 else 's'}"
        # A replica that has replayed everything can't tell for how long it has received nothing.
        seconds = round(self.lag_seconds)
        old = f"{duration(seconds)} and {blocks} behind" if seconds else f"{blocks} behind"
        if self.state is State.BEHIND:
            return f"{self.name} is {old}, and spared for that"
        return f"{self.name} is {old}" if self.lag_blocks else f"{self.name} has everything"

    @property
    def json(self) -> Mapping[str, Any]:
        return {
            "name": self.name,
            "state": self.state.name.lower(),
            "block": None if self.block == NO_BLOCK else self.block,
            "seconds_behind": round(self.lag_seconds, 3),
            "blocks_behind": self.lag_blocks,
            "reason": self.reason or None,
        }


def read() -> list[Replica]:
    """Return the replicas of the settings as they are now; none if there are none."""
    if not servers.are_configured():
        return []
    return _query_servers(servers.configured()) if block_requirement.reader is None else _read_scoreboard()


def _read_scoreboard() -> list[Replica]:
    """Return the replicas as the watcher of this node has found them."""
    assert block_requirement.reader is not None
    all_servers, scoreboard = block_requirement.reader.servers, block_requirement.reader.scoreboard
    newest = max(scoreboard.block(server.number) for server in all_servers)
    statuses = [(server, scoreboard.status(server.number)) for server in all_servers[:-1]]
    return [_lagging(server, each.state, each.block, each.lag, newest) for server, each in statuses]


def _query_servers(all_servers: list[Server]) -> list[Replica]:
    def query(server: Server) -> ServerState | str:
        try:
            return bounded_query.run_query(watching.query_state, _PATIENCE_SECONDS, server.settings)
        except bounded_query.QueryTimeout:
            return "it says nothing"
        except outage.ERRORS as error:
            return outage.reason(error)

    with ThreadPoolExecutor(len(all_servers)) as threads:
        answers = list(threads.map(query, all_servers))
    newest = max((each.block for each in answers if isinstance(each, ServerState)), default=NO_BLOCK)
    replicas = zip(all_servers[:-1], answers[:-1], strict=True)
    return [_replica(server, answer, newest) for server, answer in replicas]


def _replica(server: Server, answer: ServerState | str, newest: int) -> Replica:
    if isinstance(answer, str):
        return Replica(server.name, State.AWAY, reason=answer)
    is_late = newest > answer.block and answer.unreplayed_seconds > config.value(MAX_LAG)
    state = State.BEHIND if is_late else State.WELL
    return _lagging(server, state, answer.block, answer.unreplayed_seconds, newest)


def _lagging(server: Server, state: State, block: int, seconds: float, newest: int) -> Replica:
    """Return a replica with its lag behind the newest block; without any, it is not late either."""
    lag = max(newest - block, 0)
    return Replica(server.name, state, block, seconds if lag else 0.0, lag)


# HEALTH


def is_primary_away() -> bool:
    """Return whether this process reads from replicas, and their primary does not answer."""
    reader = block_requirement.reader
    return reader is not None and reader.scoreboard.state(reader.servers[-1].number) == State.AWAY


def best_replica() -> tuple[Server, str] | None:
    """Return the replica that is most up to date, and why it is too old to answer, if it is."""
    reader = block_requirement.reader
    if reader is None:
        return None
    scoreboard = reader.scoreboard
    available = [server for server in reader.servers[:-1] if scoreboard.state(server.number) != State.AWAY]
    if not available:
        return None
    best = max(available, key=lambda server: scoreboard.block(server.number))
    known = scoreboard.status(best.number)
    lag = f"and the replica {best.name} is " + _lag_text(known.lag) if known.state is State.BEHIND else ""
    return best, f"The primary of the database does not answer, {lag}" if lag else ""


def reason() -> str | None:
    """Return why a node is not ready whose database is a replica itself. Errors: DatabaseError."""
    # A replica without a primary receives nothing.
    age = watching.UNREPLAYED if is_primary_away() else watching.UNREPLAYED_OR_DISCONNECTED
    seconds = statements.value(f"select {age}")
    if seconds is None or seconds <= config.value(MAX_LAG):
        return None
    return f"The database is a replica, which is {_lag_text(seconds)}"


def _lag_text(seconds: float) -> str:
    most = duration(round(config.value(MAX_LAG)))
    return f"{duration(round(seconds))} behind: {MAX_LAG} allows {most}."
