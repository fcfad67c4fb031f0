"""The servers of the database from which requests read: the replicas of the settings, and their primary."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db import DEFAULT_DB_ALIAS, connections

from mirror.core import config
from mirror.core.config.database import parse_replicas
from mirror.core.db.reading import bounded_query

SETTING = "db.read"

# How long the kernel retransmits unacknowledged data.
_UNCONFIRMED_MILLISECONDS = 3000


class Server(NamedTuple):
    """A replica, or the primary; `settings` are Django's of a connection to it."""

    number: int
    name: str
    settings: Mapping[str, Any]
    is_primary: bool


def are_configured() -> bool:
    """Return whether the settings name replicas."""
    return bool(config.value(SETTING))


def configured() -> list[Server]:
    """Return the replicas of the settings, and last their primary; nothing without replicas.

    Errors: InvalidSetting.
    """
    if not are_configured():
        return []
    primary = connections.settings[DEFAULT_DB_ALIAS]
    replicas = parse_replicas(config.value(SETTING), config.lookup(SETTING).variable, primary)
    servers = [Server(number, _name(each), each, False) for number, each in enumerate(replicas)]
    return [*servers, Server(len(servers), "primary", primary, True)]


def connection_to(server: Server) -> Any:
    """Return a new connection of Django's to a server, not opened yet; the watcher says which one is away."""
    return bounded_query.new_connection(server.settings, tcp_user_timeout=_UNCONFIRMED_MILLISECONDS)


def _name(settings: Mapping[str, Any]) -> str:
    return f"{settings['HOST']}:{settings['PORT']}" if settings["PORT"] else str(settings["HOST"])
