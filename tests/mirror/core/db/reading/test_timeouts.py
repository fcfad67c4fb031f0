"""Connections keep the timeouts of the settings, and no request waits for a lock for ever."""

from collections.abc import Iterator, Mapping

import psycopg
import pytest
from django.db import DEFAULT_DB_ALIAS, connection, connections

from mirror.core.db.reading import timeouts

NAMES = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout", "idle_session_timeout")


@pytest.fixture
def _undone() -> Iterator[None]:
    yield
    timeouts.use({})


def in_force() -> list[str]:
    """Return the timeouts of a new connection."""
    other = connections.create_connection(DEFAULT_DB_ALIAS)
    try:
        with other.cursor() as cursor:
            cursor.execute("select " + ", ".join(f"current_setting('{name}')" for name in NAMES))
            return list(cursor.fetchone())
    finally:
        other.close()


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (timeouts.WEB_SERVER, ["0", "7s", "11s", "13min"]),
        (timeouts.LOADER, ["1h", "2min", "3min", "0"]),
        ({}, ["0"] * 4),
    ],
    ids=["web server", "loader", "command"],
)
@pytest.mark.usefixtures("ledger_tables", "_undone")
def test_a_new_connection_has_the_timeouts_of_its_process(settings_of, kind: Mapping[str, str], expected):
    settings_of(
        {
            "rest.db.lockTimeout": 7.0,
            "rest.db.idleInTransactionTimeout": 11.0,
            "rest.db.idleTimeout": 780.0,
            "importer.db.statementTimeout": 3600.0,
            "importer.db.lockTimeout": 120.0,
            "importer.db.idleInTransactionTimeout": 180.0,
        }
    )
    timeouts.use(kind)

    assert in_force() == expected


@pytest.mark.usefixtures("ledger_tables", "_undone")
def test_a_timeout_of_zero_is_left_to_the_database(settings_of):
    settings_of(dict.fromkeys(timeouts.WEB_SERVER.values(), 0.0))
    timeouts.use(timeouts.WEB_SERVER)

    assert timeouts.statement() is None
    assert in_force() == ["0"] * 4


def test_a_request_that_meets_a_lock_is_told_to_come_again(api):
    with connection.cursor() as cursor:
        cursor.execute("set local lock_timeout = 1")
    parameters = connection.get_connection_params()
    with psycopg.connect(**parameters) as other:
        other.execute("lock table record_file in access exclusive mode")
        answer = api.get("/api/v1/blocks")
        other.rollback()

    assert (answer.status, answer.headers["retry-after"]) == (503, "10")
