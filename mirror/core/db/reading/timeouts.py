"""Timeouts of the connections of a process, set once for each connection.

The time of a statement is not among those of the web server: it depends on the request
(`mirror.core.db.reading.sql`).
"""

from collections.abc import Mapping

from mirror.core import config

#: The web server and the processes of contract calls; loaders. PostgreSQL's parameter -> our setting.
WEB_SERVER: Mapping[str, str] = {
    "lock_timeout": "rest.db.lockTimeout",
    "idle_in_transaction_session_timeout": "rest.db.idleInTransactionTimeout",
    "idle_session_timeout": "rest.db.idleTimeout",
}
LOADER: Mapping[str, str] = {
    "statement_timeout": "importer.db.statementTimeout",
    "lock_timeout": "importer.db.lockTimeout",
    "idle_in_transaction_session_timeout": "importer.db.idleInTransactionTimeout",
}

_of_process: Mapping[str, str] = {}


def use(timeouts: Mapping[str, str]) -> None:
    """Set these timeouts for the connections that this process opens from now on."""
    global _of_process
    _of_process = timeouts


def statement() -> tuple[str, list[str]] | None:
    """Return what sets the timeouts of a connection; None if there are none."""
    milliseconds = {name: round(config.value(setting) * 1000) for name, setting in _of_process.items()}
    limits = {name: number for name, number in milliseconds.items() if number}
    if not limits:
        return None
    calls = ", ".join("set_config(%s, %s, false)" for _ in limits)
    return f"select {calls}", [text for name, number in limits.items() for text in (name, str(number))]
