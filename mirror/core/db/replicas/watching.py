"""The watcher of the database's servers: which of them answer, and how far the replicas are behind.

One process of a node watches. It asks each server in a thread of its own, as one that was stopped never
answers, and notes what it finds out on the board that all processes share. A replica is as far behind as the
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
from mirror.core.db.replicas.shared_state import NO_BLOCK, Board, State
from mirror.core.db.scheduling.repeated import Check

log = logs.logger("mirror.db")

MAX_LAG = "db.readMaxLag"

_LOOK_SECONDS, _ELECTION_SECONDS = 0.5, 1.0
# One that answers no look for so long is away.
_SILENT_SECONDS = 3.0
# After so long without a server that has what was answered from, the node goes back to what there is.
_GO_BACK_SECONDS = 10.0
_KEPT_BLOCKS = 10_000
# What a replica reads from an archive it has not received.
_HAS_MORE = "pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn()"
_AGE = """
    extract(epoch from clock_timestamp()
        - coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time()))::float"""
#: How old the state of a replica is that has yet to replay something, in seconds.
UNREPLAYED = f"case when pg_is_in_recovery() and {_HAS_MORE} then {_AGE} end"
#: The same, but one that no server sends anything may lack something as well.
UNREPLAYED_OR_CUT_OFF = f"""
    case when pg_is_in_recovery() and ({_HAS_MORE} or not exists (select from pg_stat_wal_receiver))
    then {_AGE} end"""
_LOOK = f"select ({block_requirement.LATEST}), {UNREPLAYED}"


class ServerState(NamedTuple):
    """What a server has said: its newest block, and its age in seconds if it has yet to replay something."""

    block: int
    unreplayed_seconds: float


def look() -> ServerState:
    """Return what the server of this thread's connection says. Errors: DatabaseError."""
    block, seconds = statements.row(_LOOK)
    return ServerState(NO_BLOCK if block is None else block, max(seconds or 0.0, 0.0))


class Lags:
    """How far replicas are behind the newest block known of any server."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        # When a newest block was first known, and which.
        self._known: deque[tuple[float, int]] = deque(maxlen=_KEPT_BLOCKS)

    @property
    def newest(self) -> int:
        return self._known[-1][1] if self._known else NO_BLOCK

    def note(self, block: int) -> None:
        """Note a block of any server."""
        if block > self.newest:
            self._known.append((self._clock(), block))

    def of(self, block: int) -> float:
        """Return for how many seconds there has been a newer block than this."""
        since = next((at for at, known in self._known if known > block), None)
        return 0.0 if since is None else self._clock() - since


class _Look:
    """A thread that looks at a server again and again."""

    def __init__(self, server: Server) -> None:
        self.server = server
        self.seen: ServerState | None = None
        self.at = time.monotonic()
        self.reason = ""
        threading.Thread(target=self._go_on, name=f"look at {server.name}", daemon=True).start()

    def _go_on(self) -> None:
        wrapper = connections[DEFAULT_DB_ALIAS] = servers.connection_to(self.server)
        while True:
            try:
                self.seen = look()
                self.reason = ""
            except Exception as error:
                self.seen, self.reason = None, outage.reason(error)
                with suppress(Exception):
                    wrapper.close()
            self.at = time.monotonic()
            time.sleep(_LOOK_SECONDS)

    @property
    def is_silent(self) -> bool:
        return time.monotonic() - self.at > _SILENT_SECONDS


class Watcher:
    """Judges the servers, in the one process that watches them."""

    def __init__(self, the_servers: Sequence[Server], board: Board) -> None:
        self._servers, self._board = the_servers, board
        self._lags = Lags()
        self._told: dict[int, State] = {}
        self._unreached: tuple[int, float] | None = None
        self._looks: list[_Look] = []

    def look(self) -> float:
        """Judge the servers, as soon as no other process does; a repeated check."""
        if not self._looks:
            if not self._board.may_watch():
                return _ELECTION_SECONDS
            self._looks = [_Look(server) for server in self._servers]
            return _LOOK_SECONDS
        seen = [None if each.is_silent else each.seen for each in self._looks]
        self.judge(seen, [each.reason or "it says nothing" for each in self._looks])
        return _LOOK_SECONDS

    def judge(self, seen: Sequence[ServerState | None], reasons: Sequence[str]) -> None:
        """Note what the servers have said; None of one that does not answer."""
        for each in seen:
            if each is not None:
                self._lags.note(each.block)
        primary_is_away = seen[-1] is None
        for server, each, reason in zip(self._servers, seen, reasons, strict=True):
            state, lag = State.AWAY, 0.0
            if each is not None:
                lag = self._lags.of(each.block)
                if primary_is_away:
                    lag = max(lag, each.unreplayed_seconds)
                is_late = not server.is_primary and lag > config.value(MAX_LAG)
                state = State.BEHIND if is_late else State.WELL
                self._board.note(server.place, each.block)
            self._board.judge(server.place, state, lag)
            self._tell(server, state, reason)
        self._board.looked()
        self._go_back_if_needed([each.block for each in seen if each is not None])

    def _tell(self, server: Server, state: State, reason: str) -> None:
        before = self._told.get(server.place, State.WELL)
        self._told[server.place] = state
        if state is before or server.is_primary:
            return
        lag = round(self._board.of(server.place).lag)
        if state is State.AWAY:
            log.warning("replica_away", replica=server.name, reason=reason)
        elif state is State.BEHIND:
            log.warning("replica_behind", replica=server.name, lag_s=lag)
        else:
            log.warning("replica_healthy", replica=server.name, lag_s=lag)

    def _go_back_if_needed(self, blocks: Sequence[int]) -> None:
        """Go back to the newest block there is, if what was answered from has been lost for a while."""
        if not blocks or max(blocks) >= (self._unreached[0] if self._unreached else self._board.answered):
            self._unreached = None
            return
        if self._unreached is None:
            self._unreached = self._board.answered, time.monotonic()
        elif time.monotonic() - self._unreached[1] > _GO_BACK_SECONDS:
            log.error("blocks_lost", answered_from=self._board.answered, newest=max(blocks))
            self._board.forget_answered(max(blocks))
            self._unreached = None


def checks() -> list[Check]:
    """Return what a web server process repeats, in a thread of its own."""
    reader = block_requirement.reader
    return [] if reader is None else [Watcher(reader.servers, reader.board).look]
