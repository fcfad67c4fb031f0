"""Statements of psycopg's, of a server that says nothing."""

from collections.abc import Iterator

import psycopg
import pytest
from django.db import OperationalError, connections

from mirror.core.db.backend.base import DatabaseWrapper

ENDLESS = "select pg_sleep(613)"


@pytest.fixture
def wrapper(ledger_tables: None) -> Iterator[DatabaseWrapper]:
    """Make a connection of its own; nothing of it goes on in the end."""
    wrapper = connections.create_connection("default")
    assert isinstance(wrapper, DatabaseWrapper)
    yield wrapper
    wrapper.is_gone = None
    wrapper.close()
    with wrapper.cursor() as cursor:
        cursor.execute(
            "select pg_terminate_backend(pid, 5000) from pg_stat_activity where query = %s", [ENDLESS]
        )
    wrapper.close()


def test_a_statement_ends_once_its_server_is_gone(wrapper: DatabaseWrapper) -> None:
    wrapper.is_gone = lambda: True
    with pytest.raises(OperationalError, match="has not answered"), wrapper.cursor() as cursor:
        cursor.execute(ENDLESS)
    assert wrapper.connection.closed


def test_statements_go_on_as_usual_while_the_server_is_there(wrapper: DatabaseWrapper) -> None:
    wrapper.is_gone = lambda: False
    with wrapper.cursor() as cursor:
        cursor.execute("select 1 from pg_sleep(0.2)")
        assert cursor.fetchall() == [(1,)]
        with pytest.raises(psycopg.errors.DivisionByZero):
            wrapper.connection.execute("select 1 / 0")
