"""The watcher of the database's servers: which of them answer, and how far the replicas are behind.

One process of a node watches. It probes each server in a thread of its own, as one that was stopped never
answers, and records the results on the scoreboard that all processes share. A replica is as far behind as the
time since the first block was known that it lacks. Where the primary does not answer, one that has not
replayed all that it has received is as old as the last transaction it has replayed.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections

from mirror.core import config, logs
from mirror.core.db import statements
from mirror.core.db.availability import outage
from mirror.core.db.replicas import block_requirement, servers
from mirror.core.db.replicas.servers import Server
from mirror.core.db.replicas.shared_state import NO_BLOCK, Scoreboard, State
from mirror.core.db.scheduling.repeated import Check

log = logs.logger("mirror.db")

MAX_LAG = "db.readMaxLag"

_PROBE_SECONDS, _ELECTION_SECONDS = 0.5, 1.0
# A server that answers no probe for so long is away.
_SILENT_SECONDS = 3.0
# After so long without a server that has the newest answered block, the node falls back to an older one.
_RESET_SECONDS = 10.0
_MAX_BLOCKS = 10_000
# What a replica reads from an archive it has not received.
_HAS_UNREPLAYED = "pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()"
_AGE = """
    extract(epoch from clock_timestamp()
        - coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time()))::float"""
#: How old the state of a replica is that has yet to replay something, in seconds.
UNREPLAYED = f"case when pg_is_in_recovery() and {_HAS_UNREPLAYED} then {_AGE} end"
#: The same, but one that no server sends anything may lack something as well.
UNREPLAYED_OR_DISCONNECTED = f"""
    case when pg_is_in_recovery() and ({_HAS_UNREPLAYED} or not exists (select from pg_stat_wal_receiver))
    then {_AGE} end"""
_STATE = f"select ({block_requirement.LATEST}), {UNREPLAYED}"


class ServerState(NamedTuple):
    """A server's newest block, and its age in seconds if it has yet to replay something."""

    block: int
    unreplayed_seconds: float


def query_state() -> ServerState:
    """Query the server of this thread's connection. Errors: DatabaseError."""
    block, seconds = statements.row(_STATE)
    return ServerState(NO_BLOCK if block is None else block, max(seconds or 0.0, 0.0))


class Lags:
    """How far replicas are behind the newest block known of any server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # When a newest block was first known, and which.
        self._known: deque[tuple[float, int]] = deque(maxlen=_MAX_BLOCKS)

    @property
    def newest(self) -> int:
        return self._known[-1][1] if self._known else NO_BLOCK

    def note(self, block: int) -> None:
        if block > self.newest:
            self._known.append((self._clock(), block))

    def lag(self, block: int) -> float:
        """Return for how many seconds there has been a newer block than this."""
        since = next((at for at, known in self._known if known > block), None)
        return 0.0 if since is None else self._clock() - since


class _Probe:
    """A thread that probes a server repeatedly."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.state: ServerState | None = None
        self.answered_at = time.monotonic()
        self.reason = ""
        threading.Thread(target=self._run, name=f"probe of {server.name}", daemon=True).start()

    def _run(self) -> None:
        wrapper = connections[DEFAULT_DB_ALIAS] = servers.connection_to(self.server)
        while True:
            try:
                self.state = query_state()
                self.reason = ""
            except Exception as error:
                self.state, self.reason = None, outage.reason(error)
                with suppress(Exception):
                    wrapper.close()
            self.answered_at = time.monotonic()
            time.sleep(_PROBE_SECONDS)

    @property
    def is_silent(self) -> bool:
        return time.monotonic() - self.answered_at > _SILENT_SECONDS


class Watcher:
    """Judges the servers, in the one process that watches them."""

    def __init__(self, all_servers: Sequence[Server], scoreboard: Scoreboard) -> None:
        self._servers, self._scoreboard = all_servers, scoreboard
        self._lags = Lags()
        self._reported: dict[int, State] = {}
        self._lost: tuple[int, float] | None = None
        self._probes: list[_Probe] = []

    def check(self) -> float:
        """Judge the servers, as soon as no other process does; a repeated check."""
        if not self._probes:
            if not self._scoreboard.try_to_watch():
                return _ELECTION_SECONDS
            self._probes = [_Probe(server) for server in self._servers]
            return _PROBE_SECONDS
        states = [None if probe.is_silent else probe.state for probe in self._probes]
        self.judge(states, [probe.reason or "it says nothing" for probe in self._probes])
        return _PROBE_SECONDS

    def judge(self, seen: Sequence[ServerState | None], reasons: Sequence[str]) -> None:
        """Record the states of the servers, None for one that does not answer."""
        for each in seen:
            if each is not None:
                self._lags.note(each.block)
        primary_is_away = seen[-1] is None
        for server, each, reason in zip(self._servers, seen, reasons, strict=True):
            state, lag = State.AWAY, 0.0
            if each is not None:
                lag = self._lags.lag(each.block)
                if primary_is_away:
                    lag = max(lag, each.unreplayed_seconds)
                is_late = not server.is_primary and lag > config.value(MAX_LAG)
                state = State.BEHIND if is_late else State.WELL
                self._scoreboard.set_block(server.number, each.block)
            self._scoreboard.set_state(server.number, state, lag)
            self._report(server, state, reason)
        self._reset_if_lost([each.block for each in seen if each is not None])

    def _report(self, server: Server, state: State, reason: str) -> None:
        before = self._reported.get(server.number, State.WELL)
        self._reported[server.number] = state
        if state is before or server.is_primary:
            return
        lag = round(self._scoreboard.status(server.number).lag)
        if state is State.AWAY:
            log.warning("replica_away", replica=server.name, reason=reason)
        elif state is State.BEHIND:
            log.warning("replica_behind", replica=server.name, lag_s=lag)
        else:
            log.warning("replica_healthy", replica=server.name, lag_s=lag)

    def _reset_if_lost(self, blocks: Sequence[int]) -> None:
        """Reset to the newest block there is, once the newest answered one has been lost for a while."""
        if not blocks or max(blocks) >= (self._lost[0] if self._lost else self._scoreboard.newest_answered):
            self._lost = None
            return
        if self._lost is None:
            self._lost = self._scoreboard.newest_answered, time.monotonic()
        elif time.monotonic() - self._lost[1] > _RESET_SECONDS:
            log.error("blocks_lost", answered_from=self._scoreboard.newest_answered, newest=max(blocks))
            self._scoreboard.reset_answered(max(blocks))
            self._lost = None


def checks() -> list[Check]:
    """Return the checks that a web server process repeats."""
    reader = block_requirement.reader
    return [] if reader is None else [Watcher(reader.servers, reader.scoreboard).check]
