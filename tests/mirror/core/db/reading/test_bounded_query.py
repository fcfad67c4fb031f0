"""Questions to the database that nobody waits for too long."""

import gc
import socket
import threading

import pytest
from django.db import ProgrammingError, connection, connections

from mirror.core.db.availability import bounded_query
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.usefixtures("ledger_tables")


def _read(sql: str) -> object:
    with connection.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchone()


def _threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "question"]


def test_an_answer_and_an_error_come_through():
    assert bounded_query.run_query(lambda: _read("select 7"), PATIENCE_SECONDS) == (7,)
    with pytest.raises(ProgrammingError):
        bounded_query.run_query(lambda: _read("select nothing"), PATIENCE_SECONDS)


def test_one_that_is_not_answered_in_time_is_given_up_and_its_thread_ends():
    with pytest.raises(bounded_query.QueryTimeout, match=r"it has not answered within 0\.2 s"):
        bounded_query.run_query(lambda: _read("select pg_sleep(600)"), 0.2)

    wait_until(lambda: not _threads())
    wait_until(
        lambda: (
            _read(
                "select count(*) from pg_stat_activity "
                "where datname = current_database() and query = 'select pg_sleep(600)'"
            )
            == (0,)
        )
    )


def test_a_server_that_accepts_a_connection_and_says_nothing_is_given_up(monkeypatch):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = {"HOST": "127.0.0.1", "PORT": str(silent.getsockname()[1])}
        monkeypatch.setitem(connections.settings, "default", connections.settings["default"] | address)

        gc.disable()
        try:
            with pytest.raises(bounded_query.QueryTimeout):
                bounded_query.run_query(lambda: _read("select 7"), 0.2)
            wait_until(lambda: not _threads())
        finally:
            gc.enable()
        accepted, _ = silent.accept()
        with accepted:
            accepted.settimeout(PATIENCE_SECONDS)
            # What the client has asked for, and then the end: nothing of it is left.
            while accepted.recv(1024):
                pass
