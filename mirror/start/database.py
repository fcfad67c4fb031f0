"""The database of a command: that of DATABASE_URL, or the node's own, started if it is not running.

A database that starts at the same time as the node, such as that of another container, may need a while: a
command waits for it, and says so. An error that waiting does not cure ends the command at once.
"""

import math
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from django.conf import settings
from django.db import OperationalError, connection, connections

from mirror.core import config
from mirror.core.config.setting import OperatorError
from mirror.core.db.availability import outage
from mirror.core.logs import Echo
from mirror.core.values.human_readable import duration
from mirror.node.postgres import replication
from mirror.node.postgres import server as embedded
from mirror.node.postgres.cluster import DATABASE
from mirror.node.postgres.installation import server_paths

OLDEST_VERSION = 15

_REMIND_SECONDS = 30.0
# Errors of a server that waiting does not cure.
_LASTING = re.compile(r"FATAL: .*(authentication failed|does not exist|pg_hba\.conf|not permitted to log in)")


@contextmanager
def ready(echo: Echo, *, make: bool = True, wait: bool = True) -> Iterator[embedded.Server | None]:
    """Have the database ready for the length of the block; yield the node's own server (None: DATABASE_URL).

    `wait` for a database of DATABASE_URL that does not answer yet. Errors: OperatorError if it can't be used,
    or if there is none yet and `make` is false.
    """
    if config.value("db.url"):
        _check(echo, wait=wait and config.value("common.databaseStartup.enabled"))
        yield None
        return
    if not make and not server_paths(settings.DATA_DIR).data.exists():
        raise OperatorError(
            f"There is no node in {settings.DATA_DIR} yet: `manage.py up` and `manage.py ingest` make one."
        )
    with embedded.in_use(settings.DATA_DIR, echo) as server:
        replication.make_role(server.paths, DATABASE, settings.DATA_DIR)
        try:
            yield server
        except OperationalError:
            server.check_disk()
            raise
        finally:
            connections.close_all()


def _check(echo: Echo, *, wait: bool) -> None:
    """Raise OperatorError if the database of DATABASE_URL does not answer, is too old, or is not in UTF-8."""
    number, encoding = _describe_server(echo, config.value("common.databaseStartup.timeout") if wait else 0.0)
    version = int(number) // 10_000
    if version < OLDEST_VERSION:
        raise OperatorError(
            f"DATABASE_URL names a PostgreSQL {version}, but version {OLDEST_VERSION} or later is needed."
        )
    if encoding != "UTF8":
        raise OperatorError(
            f"DATABASE_URL names a database that keeps text as {encoding}, which can't hold every name: "
            "make one by `create database NAME encoding 'UTF8' template template0`."
        )


def _describe_server(echo: Echo, seconds: float) -> tuple[str, str]:
    """Return the server's version number and the database's encoding; try for this many seconds.

    Errors: OperatorError.
    """
    interval: float = config.value("common.databaseStartup.interval")
    began = time.monotonic()
    last_reason, said_at = "", began
    while True:
        try:
            return _query()
        except psycopg.Error as error:
            reason = str(error).strip().splitlines()[0]
            now = time.monotonic()
            if not _is_transient(error) or now + interval > began + seconds:
                raise OperatorError(f"The database of DATABASE_URL can't be used: {reason}") from error
        if reason != last_reason or now - said_at > _REMIND_SECONDS:
            remaining = duration(round(began + seconds - now))
            echo(f"Waiting for the database of DATABASE_URL, for up to {remaining}: {reason}")
            last_reason, said_at = reason, now
        time.sleep(interval)


def _is_transient(error: psycopg.Error) -> bool:
    """Return whether an error is transient: the database does not listen yet, starts, or is too busy."""
    is_slow = isinstance(error, psycopg.errors.QueryCanceled)
    return is_slow or (outage.is_outage(error) and _LASTING.search(str(error)) is None)


def _query() -> tuple[str, str]:
    """Query the database on a connection of its own, within the limits of the settings."""
    parameters = connection.get_connection_params()
    limit = math.ceil(config.value("common.databaseStartup.connectTimeout"))
    milliseconds = round(config.value("common.databaseStartup.validationTimeout") * 1000)
    with psycopg.connect(**{"connect_timeout": limit} | parameters) as attempt:
        attempt.execute(f"set statement_timeout = {milliseconds}")
        answer = attempt.execute(
            "select current_setting('server_version_num'), current_setting('server_encoding')"
        )
        number, encoding = answer.fetchone() or ("0", "")
    return number, encoding
