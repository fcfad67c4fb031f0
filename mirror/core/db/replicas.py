"""Replicas of the database: each statement is read from one of them, or from the primary.

A replica that does not answer, or is further behind than db.readMaxLag, is left out for some seconds. So is a
primary that does not answer; if nothing else is left, requests read from a replica that is too far behind.
"""

import math
import random
import time
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, TypeVar

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

from mirror.core import config, logs
from mirror.core.config.database import parse_replicas
from mirror.core.db.availability import bounded_query, outage, unresponsive
from mirror.core.db.availability.unresponsive import WatchedConnection
from mirror.core.db.reading import pools
from mirror.core.metrics import database

log = logs.logger("mirror.db")

Result = TypeVar("Result")

_SETTING, MAX_LAG = "db.read", "db.readMaxLag"
# The time between two checks of a connection's lag, and for how long a server is left out.
_CHECK_SECONDS, _LEFT_OUT_SECONDS = 1.0, 5.0
# What has just been received after a quiet hour makes a replica an hour old, until it is replayed.
_PAUSES = (0.0, 0.05)
# A replica conflicts with the replay of changes, or its session waits for that in a circle.
_CONFLICTS = (psycopg.errors.SerializationFailure, psycopg.errors.DeadlockDetected)
# How long the kernel retransmits unacknowledged data.
_UNCONFIRMED_MILLISECONDS = 3000

_AGE = """
    extract(epoch from clock_timestamp()
        - coalesce(pg_last_xact_replay_timestamp(), pg_postmaster_start_time()))::float"""
#: How many seconds a replica is behind that has yet to replay something; 0 of one that has not.
UNREPLAYED = f"case when pg_last_wal_receive_lsn() > pg_last_wal_replay_lsn() then {_AGE} else 0.0 end"
#: The same, but one that no server sends anything may lack something as well.
LAG = f"""
    case when not pg_is_in_recovery() then 0.0
    when not exists (select from pg_stat_wal_receiver) then {_AGE} else {UNREPLAYED} end"""


class Server(NamedTuple):
    """A replica, or the primary; `settings` are Django's of a connection to it."""

    name: str
    settings: Mapping[str, Any]


def configured_servers() -> list[Server]:
    """Return the replicas of the settings, and last the primary; or nothing. Errors: InvalidSetting."""
    if not config.value(_SETTING):
        return []
    primary = connections.settings[DEFAULT_DB_ALIAS]
    replicas = parse_replicas(config.value(_SETTING), config.lookup(_SETTING).variable, primary)
    named = [Server(":".join(filter(None, (each["HOST"], each["PORT"]))), each) for each in replicas]
    return [*named, Server("primary", primary)]


def connection_to(server: Server) -> Any:
    """Return a new connection of Django's to a replica, not opened yet."""
    return bounded_query.new_connection(server.settings, tcp_user_timeout=_UNCONFIRMED_MILLISECONDS)


class _Replica:
    """A replica of a reader: its pools, until when it is left out, and when its lag is checked next."""

    def __init__(self, server: Server, quick: int, slow: int) -> None:
        self.name = server.name
        options = {"tcp_user_timeout": _UNCONFIRMED_MILLISECONDS} | server.settings.get("OPTIONS", {})
        self.pools = pools.ServerPools(quick, slow, {**server.settings, "OPTIONS": options})
        self.left_out_until = self.check_at = 0.0
        self.is_left_out = False

    def may_try(self) -> bool:
        """Return whether it is not left out. After a while one thread may try, and not all of them."""
        if not self.is_left_out:
            return True
        if time.monotonic() < self.left_out_until:
            return False
        self.left_out_until = time.monotonic() + _LEFT_OUT_SECONDS
        return True

    def leave_out(self) -> bool:
        """Leave it out for a while; return whether it was used before."""
        self.left_out_until = time.monotonic() + _LEFT_OUT_SECONDS
        was_used, self.is_left_out = not self.is_left_out, True
        return was_used

    def take_back(self) -> None:
        if self.is_left_out:
            self.is_left_out = False
            log.warning("replica_healthy", replica=self.name)

    def check_lag(self, lent: WatchedConnection) -> None:
        """Raise Behind if the replica is too far behind; checked once a second."""
        if time.monotonic() < self.check_at and not self.is_left_out:
            return
        for pause in _PAUSES:
            time.sleep(pause)
            ((lag,),) = lent.execute(f"select {LAG}", prepare=False)
            if lag <= config.value(MAX_LAG):
                self.check_at = time.monotonic() + _CHECK_SECONDS
                self.take_back()
                return
        raise Behind(lag)


class Behind(Exception):
    """A replica is further behind than db.readMaxLag."""

    def __init__(self, lag: float) -> None:
        self.lag = lag
        super().__init__(f"{lag:.0f} s behind")


class ReplicaReader(pools.Reader):
    """Reads each statement from a replica, and from the primary where none will do."""

    def __init__(self, servers: list[Server], quick: int, slow: int, slow_after: float = math.inf) -> None:
        super().__init__(quick, slow, slow_after, servers[-1].settings)
        self._replicas = [_Replica(each, quick, slow) for each in servers[:-1]]
        self._primary_away_until = 0.0

    def read(self, work: Callable[[WatchedConnection], Result], *, slow: bool) -> Result:
        candidates = random.sample(self._replicas, len(self._replicas))
        failure: psycopg.OperationalError | None = None
        for replica in candidates:
            if not replica.may_try():
                continue
            try:
                return self._read_from(replica, work, slow=slow)
            except _TryNext:
                continue
            except _CONFLICTS:
                # All replicas replay the change with which the statement conflicts.
                database.CONFLICTS.labels(replica.name).inc()
                break
        if time.monotonic() >= self._primary_away_until:
            try:
                return self.read_from_primary(work, slow=slow)
            except psycopg.OperationalError as error:
                if not outage.is_outage(error):
                    raise
                self._primary_away_until, failure = time.monotonic() + _LEFT_OUT_SECONDS, error
        for replica in candidates:
            try:
                return self._read_from(replica, work, slow=slow, however_late=True)
            except _TryNext:
                continue
            except _CONFLICTS as conflict:
                # For the client it is an outage like others.
                failure = psycopg.OperationalError(str(conflict))
        raise failure or pools.NoConnection("no server answers")

    def _read_from(
        self,
        replica: _Replica,
        work: Callable[[WatchedConnection], Result],
        *,
        slow: bool,
        however_late: bool = False,
    ) -> Result:
        try:
            with replica.pools.connection(slow=slow) as lent:
                if not however_late:
                    replica.check_lag(lent)
                return work(lent)
        except Behind as behind:
            if replica.leave_out():
                log.warning("replica_behind", replica=replica.name, lag_s=round(behind.lag))
        except psycopg.OperationalError as error:
            if not outage.is_outage(error):
                raise
            replica.pools.drain()
            if replica.leave_out():
                log.warning("replica_away", replica=replica.name, reason=outage.reason(error))
        raise _TryNext

    def close(self) -> None:
        super().close()
        for replica in self._replicas:
            replica.pools.close()


class _TryNext(Exception):
    """A replica that will not do for a statement."""


def use(quick: int, slow: int, slow_after: float) -> pools.Reader:
    """Have this process read by pools of connections, to replicas if the settings name any.

    Errors: InvalidSetting.
    """
    servers = configured_servers()
    reader = (
        ReplicaReader(servers, quick, slow, slow_after) if servers else pools.Reader(quick, slow, slow_after)
    )
    pools.use(reader)
    unresponsive.watch()
    return reader


def use_if_configured(connections: int) -> None:
    """Have this process read from replicas if the settings name any. Errors: InvalidSetting."""
    unresponsive.watch()
    if servers := configured_servers():
        pools.use(ReplicaReader(servers, connections, 1))


def are_read() -> bool:
    """Return whether this process reads from replicas."""
    return isinstance(pools.reader(), ReplicaReader)
