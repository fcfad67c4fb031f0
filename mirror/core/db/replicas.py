"""Replicas of the database: a connection lease reads from one of them, or from the primary.

A replica that does not answer, or is further behind than db.readMaxLag, is left out for some seconds. So is a
primary that does not answer; if nothing else is left, requests read from a replica that is too far behind.
"""

import random
import time
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections
from django.db import Error as DjangoError

from mirror.core import config, logs
from mirror.core.config.database import parse_replicas
from mirror.core.db.availability import outage, unresponsive
from mirror.core.db.reading import bounded_query, sql
from mirror.core.db.scheduling.repeated import Check
from mirror.core.metrics import database

if TYPE_CHECKING:
    from mirror.core.db.backend.base import DatabaseWrapper

log = logs.logger("mirror.db")

_SETTING, MAX_LAG = "db.read", "db.readMaxLag"
# The time between two checks of a connection's lag, and for how long a server is left out.
_CHECK_SECONDS, _LEFT_OUT_SECONDS = 1.0, 5.0
# What has just been received after a quiet hour makes a replica an hour old, until it is replayed.
_PAUSES = (0.0, 0.05)
# A connection is replaced after so long, so that a replica that is back gets its share.
_MAX_AGE_SECONDS = 300.0
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
    wrapper = bounded_query.new_connection(server.settings, tcp_user_timeout=_UNCONFIRMED_MILLISECONDS)
    wrapper.server = server
    return wrapper


class Reader:
    """Chooses what the requests of a process read from; the last server is the primary."""

    def __init__(self, all_servers: list[Server]) -> None:
        self._replicas, self._primary = all_servers[:-1], all_servers[-1]
        # Servers that are left out -> until when (monotonic).
        self._left_out: dict[str, float] = {}

    def session(self, own: "DatabaseWrapper", error: psycopg.Error | None = None) -> "DatabaseWrapper":
        """Return what a lease reads with: `own.replica`, or `own`, which is its connection to the primary.

        `error` is that of a statement before, which has to run on another server. Errors: OperationalError.
        """
        session = own.replica
        if error is None and session is not None and self._is_usable(session):
            return session
        replicas = candidates = random.sample(self._replicas, len(self._replicas))
        if session is not None and isinstance(error, sql.CONFLICTS):
            # All replicas replay the change with which the statement conflicts.
            database.CONFLICTS.labels(session.server.name).inc()
            candidates = []
        elif session is not None and error is not None:
            candidates = [each for each in replicas if each is not session.server]
        elif error is not None:
            # The primary may only have closed an idle connection.
            candidates = []
        if session is not None or error is not None:
            (session or own).close()
        own.replica = None
        for server in candidates:
            if self._may_try(server) and self._connect(own, server):
                return own.replica or own
        if self._may_try(self._primary):
            try:
                own.ensure_connection()
                self._left_out.pop(self._primary.name, None)
                return own
            except DjangoError:
                self._leave_out(self._primary)
        if not any(self._connect(own, server, however_late=True) for server in replicas):
            own.ensure_connection()
        return own.replica or own

    def _connect(self, own: "DatabaseWrapper", server: Server, *, however_late: bool = False) -> bool:
        """Let a lease have a connection to a replica, unless that does not answer, or is further behind."""
        session: DatabaseWrapper = connection_to(server)
        session.ends_at = time.monotonic() + _MAX_AGE_SECONDS
        if not self._check(session, however_late=however_late):
            session.close()
            return False
        own.replica = session
        if however_late:
            session.checked_until += _LEFT_OUT_SECONDS
        elif self._left_out.pop(server.name, None):
            log.warning("replica_healthy", replica=server.name)
        return True

    def _is_usable(self, session: "DatabaseWrapper") -> bool:
        """Return whether a connection may be read by; check its replica now and then."""
        now = time.monotonic()
        if now < session.checked_until and session.connection is not None:
            return True
        return now < session.ends_at and self._check(session)

    def _check(self, session: "DatabaseWrapper", *, however_late: bool = False) -> bool:
        """Return whether a replica answers, and is not too far behind."""
        session.checked_until = time.monotonic() + _CHECK_SECONDS
        try:
            session.ensure_connection()
            for pause in _PAUSES:
                time.sleep(pause)
                ((lag,),) = session.connection.execute(f"select {LAG}", prepare=False)
                if however_late or lag <= config.value(MAX_LAG):
                    return True
        except psycopg.errors.QueryCanceled:
            # The request has no time left, which says nothing about the replica.
            return True
        except DjangoError as error:
            if self._leave_out(session.server):
                log.warning("replica_away", replica=session.server.name, reason=outage.reason(error))
            return False
        except psycopg.Error:
            # A session that was ended, which says nothing about the replica either.
            return False
        if self._leave_out(session.server):
            log.warning("replica_behind", replica=session.server.name, lag_s=round(lag))
        return False

    def _leave_out(self, server: Server) -> bool:
        """Leave a server out for a while; return whether it was used before."""
        was_used = server.name not in self._left_out
        self._left_out[server.name] = time.monotonic() + _LEFT_OUT_SECONDS
        return was_used

    def _may_try(self, server: Server) -> bool:
        """Return whether a server is not left out. After a while one thread may try, and not all of them."""
        if (until := self._left_out.get(server.name)) is None:
            return True
        if time.monotonic() < until:
            return False
        self._leave_out(server)
        return True

    def probe(self, is_at_work: Callable[[float], object]) -> float:
        """Leave out replicas that answer nothing, while a request is long at work; a repeated check."""
        for server in self._replicas if is_at_work(unresponsive.LONG_SECONDS) else ():
            if not unresponsive.answers(server.settings):
                if self._leave_out(server):
                    reason = str(unresponsive.ServerUnresponsive())
                    log.warning("replica_away", replica=server.name, reason=reason)
                unresponsive.shut(server.name)
        return unresponsive.PAUSE_SECONDS


_reader: Reader | None = None


def use() -> None:
    """Have this process read from replicas if the settings name any. Errors: InvalidSetting."""
    global _reader
    if all_servers := configured_servers():
        _reader = Reader(all_servers)
        sql.choose_session(_reader.session)


def checks(is_at_work: Callable[[float], object]) -> list[Check]:
    """Return the checks that a process with requests repeats; `is_at_work` as in `unresponsive.probe`."""
    return [] if _reader is None else [partial(_reader.probe, is_at_work)]
