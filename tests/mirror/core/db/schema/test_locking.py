"""Changes of the catalogue beside readers: nobody waits for a migration that waits."""

import threading
from collections.abc import Iterator

import psycopg
import pytest
from django.db import connection, connections
from django.db.utils import ProgrammingError

from mirror.core.db.schema.locking import change_table
from tests.logs import events
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def table() -> Iterator[str]:
    with connection.cursor() as cursor:
        cursor.execute("create table changed (a int)")
    yield "changed"
    with connection.cursor() as cursor:
        cursor.execute("drop table changed")


def other() -> psycopg.Connection[tuple[object, ...]]:
    given = connection.get_connection_params()
    names = ("dbname", "user", "password", "host", "port")
    return psycopg.connect(**{name: given[name] for name in names if given.get(name)})


def columns(reader: psycopg.Connection[tuple[object, ...]]) -> list[str]:
    found = reader.execute("select * from changed").description or []
    return [column.name for column in found]


def in_a_thread(table: str) -> threading.Thread:
    def change() -> None:
        # A thread has a connection of its own.
        own = connections["default"]
        try:
            change_table(own, table, lambda: own.cursor().execute(f"alter table {table} add b int"))
        finally:
            own.close()

    thread = threading.Thread(target=change)
    thread.start()
    return thread


def test_a_change_waits_for_a_long_reader_and_nobody_waits_for_the_change(
    table: str, caplog: pytest.LogCaptureFixture
) -> None:
    with other() as long, other() as short:
        short.autocommit = True
        assert columns(long) == ["a"]

        changing = in_a_thread(table)
        wait_until(lambda: events(caplog))
        # Would it hold its place in the queue, this would wait as long as the reader reads.
        short.execute("set statement_timeout = '30s'")
        assert columns(short) == ["a"]

        pid = long.info.backend_pid
        long.rollback()
        changing.join()
        assert columns(short) == ["a", "b"]
    (event, *_) = events(caplog)
    assert (event["event"], event["table"]) == ("migration_waits", "changed")
    assert event["used_by"].startswith(f"'client backend' (server process {pid}, for")


def test_an_error_of_the_change_itself_is_raised(table: str) -> None:
    with pytest.raises(ProgrammingError, match="does not exist"):
        change_table(connection, table, lambda: connection.cursor().execute("alter table changed drop b"))


def test_the_sessions_own_limit_holds_again_after_a_change(table: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("set lock_timeout = '7s'")
        change_table(connection, table, lambda: cursor.execute("alter table changed add b int"))
        cursor.execute("show lock_timeout")
        assert cursor.fetchone() == ("7s",)
        cursor.execute("reset lock_timeout")
