"""Reading from replicas: each statement runs on one that has all that was shown before.

With its rows a statement brings the newest block of the state that it has seen; an older one than is needed
counts for nothing. A replica that cancels a statement, as it conflicts with what it has to replay, gets it
once more, then the primary. A server that does not answer is out of rotation until the watcher finds it
well.
"""

import os
import time
from collections.abc import Iterator
from functools import partial
from itertools import chain, count
from typing import TYPE_CHECKING, Any, cast

import psycopg
from django.db import Error as DjangoError

from mirror.core.db.availability import outage
from mirror.core.db.reading import sql
from mirror.core.db.replicas import block_requirement, servers, shared_state
from mirror.core.db.replicas.servers import Server
from mirror.core.db.replicas.shared_state import NO_BLOCK, Scoreboard, State
from mirror.core.db.scheduling import request_scheduler
from mirror.core.metrics import database

if TYPE_CHECKING:
    from mirror.core.db.backend.base import DatabaseWrapper
    from mirror.core.db.reading.sql import Row, Values

# All statements of a round see one state: that of the block that is read first.
_REPEATABLE = "select set_config('default_transaction_isolation', 'repeatable read', false)"
# A replica conflicts with the replay of changes, or its session waits for that in a circle.
_CONFLICTS = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
# Replicas are milliseconds behind: so long to wait for one before the primary is used.
_RETRY_PAUSES = (0.0, 0.002, 0.005)
_NO_PAUSE_SECONDS = 0.1


class _ServerUnavailable(Exception):
    """A server has not answered; its cause says why."""

    def __init__(self, *, conflict: bool) -> None:
        super().__init__()
        self.conflict = conflict


class Reader:
    """Reads for the requests of a process. The last server is the primary."""

    def __init__(self, all_servers: list[Server], scoreboard: Scoreboard) -> None:
        self.servers, self.scoreboard = all_servers, scoreboard
        self._replicas, self._primary = all_servers[:-1], all_servers[-1]
        self._newest_read = NO_BLOCK
        self._no_pause_until = 0.0
        # Each connection of this process prefers another replica, and those of other processes again others.
        self._number = count(os.getpid())

    @property
    def newest_read(self) -> int:
        """The newest block that this process has read, apart from those that were lost."""
        return min(self._newest_read, self.scoreboard.newest_answered)

    def fetch(self, statement: str, values: "Values", timeout: str) -> "list[Row]":
        """Return all rows of a statement. Errors: BlockNotAvailable, psycopg.Error, DatabaseError."""
        if request_scheduler.own_connection().in_atomic_block:
            return sql.fetch_local(statement, values, timeout)
        requirement = block_requirement.current()
        wait: block_requirement.BlockWait | None = None
        while True:
            needed = max(requirement.since, requirement.newest, self.scoreboard.newest_answered)
            newest, failure = NO_BLOCK, None
            candidates, queried = self._candidates(needed), set()
            while (server := next(candidates, None)) is not None:
                if server.number in queried:
                    continue
                queried.add(server.number)
                try:
                    block, rows = self._query(server, statement, values, timeout)
                except _ServerUnavailable as error:
                    failure = failure or error
                    if error.conflict and self.scoreboard.state(self._primary.number) != State.AWAY:
                        candidates = chain([self._primary], candidates)
                    continue
                if self.scoreboard.block(server.number) != block:
                    self.scoreboard.set_block(server.number, block)
                if block >= needed:
                    requirement.record_read(block)
                    self._newest_read = max(self._newest_read, block)
                    self.scoreboard.record_answered(block)
                    return rows
                newest = max(newest, block)
            if failure is not None and newest == NO_BLOCK:
                assert failure.__cause__ is not None
                if failure.conflict:
                    # For the client it is an outage like others.
                    raise psycopg.OperationalError(str(failure.__cause__)) from failure.__cause__
                raise failure.__cause__
            wait = wait or block_requirement.BlockWait(needed)
            wait.wait(newest)

    def _candidates(self, needed: int) -> Iterator[Server]:
        """Yield the servers in the order to try them; some may come twice."""
        scoreboard = self.scoreboard
        own = request_scheduler.own_connection()
        if own.preferred is None:
            own.preferred = next(self._number) % len(self._replicas)
        replicas = self._replicas[own.preferred :] + self._replicas[: own.preferred]
        for each in replicas:
            if scoreboard.state(each.number) <= State.WELL and scoreboard.block(each.number) >= needed:
                yield each
        if time.monotonic() >= self._no_pause_until:
            for pause in _RETRY_PAUSES:
                time.sleep(pause)
                for each in replicas:
                    if scoreboard.state(each.number) <= State.WELL and self._query_block(each) >= needed:
                        yield each
            # None has caught up. Others need not wait for that just as long.
            self._no_pause_until = time.monotonic() + _NO_PAUSE_SECONDS
        if scoreboard.state(self._primary.number) != State.AWAY:
            yield self._primary
        # Nothing better is left. What is said to be away may be back.
        yield from sorted(self.servers, key=lambda each: scoreboard.state(each.number))

    def _query_block(self, server: Server) -> int:
        try:
            block, _ = self._query(server, "select 1", (), sql.TIMEOUT)
        except _ServerUnavailable:
            return NO_BLOCK
        self.scoreboard.set_block(server.number, block)
        return block

    # ONE SERVER

    def _query(
        self, server: Server, statement: str, values: "Values", timeout: str
    ) -> "tuple[int, list[Row]]":
        """Return the newest block of a server, and the rows; try twice. Errors: _ServerUnavailable."""
        is_last = False
        while True:
            own = request_scheduler.own_connection()
            lease = own.lease
            if lease is not None and lease.interrupted:
                request_scheduler.resume(lease)
                continue
            session: DatabaseWrapper | None = None
            try:
                session = self._session(own, server)
                rows = sql.read(own, session, statement, values, timeout)
                assert session.prepared is not None
                latest = session.prepared.first_rows
                return (latest[0][0] if latest else NO_BLOCK), rows
            except (psycopg.OperationalError, psycopg.InterfaceError, DjangoError) as error:
                is_open = session is not None and session.connection and not session.connection.closed
                if lease is not None and lease.interrupted and is_open:
                    continue
                has_conflict = isinstance(error, _CONFLICTS) or isinstance(error.__cause__, _CONFLICTS)
                if session is not None and not is_open:
                    session.close()
                elif not has_conflict and not outage.is_outage(error):
                    raise
                if has_conflict:
                    database.CONFLICTS.add(server.name)
                # A server that can't be connected to is not tried again; one that has restarted is.
                if is_last or (session is None and not has_conflict):
                    if not has_conflict:
                        self.scoreboard.mark_unavailable(server.number)
                    raise _ServerUnavailable(conflict=has_conflict) from error
                is_last = True

    def _session(self, own: "DatabaseWrapper", server: Server) -> "DatabaseWrapper":
        """Return the connection to a server that goes with that of a lease. Errors: OperationalError."""
        if own.sessions is None:
            own.sessions = {}
        session = own.sessions.get(server.number)
        if session is None:
            session = own.sessions[server.number] = cast("DatabaseWrapper", servers.connection_to(server))
            session.is_gone = partial(self.scoreboard.is_unavailable, server.number)
            session.first = block_requirement.LATEST
        if session.connection is None:
            session.prepared = None
            try:
                with session.cursor() as cursor:
                    cursor.execute(_REPEATABLE)
            except BaseException:
                # It would go on without.
                session.close()
                raise
        return session


def create_scoreboard() -> int:
    """Make the memory that processes share, in the one that starts the others. Errors: InvalidSetting."""
    return shared_state.create(len(servers.configured()))


def use_replicas(file: int | None) -> None:
    """Have this process read from replicas if there are any, with the memory of `create_scoreboard`."""
    if file is None:
        return
    if not (all_servers := servers.configured()):
        return
    block_requirement.reader = reader = Reader(all_servers, Scoreboard(file, len(all_servers)))
    sql.set_fetcher(reader.fetch)


def scoreboard_file() -> Any:
    """Return the file of the memory that this process uses, if it does."""
    return None if block_requirement.reader is None else block_requirement.reader.scoreboard.file
