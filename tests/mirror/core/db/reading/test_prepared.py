"""Statements of web requests: the same rows as by psycopg's cursor, whatever happens to the connection."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection, transaction

from mirror.core.db.availability.outage import is_outage
from mirror.core.db.reading import prepared
from mirror.core.db.reading.sql import fetch
from mirror.core.db.scheduling.request_scheduler import RequestScheduler

InTurn = Callable[[Callable[[], Any]], Any]

_OWN = "select statement from pg_prepared_statements where name like 'read\\_%%' order by name"


@pytest.fixture
def in_turn(ledger_tables: None) -> Iterator[InTurn]:
    """Do something in a thread with a turn, always the same one; its connection is closed in the end."""
    turns = RequestScheduler(1)

    def run(work: Callable[[], Any]) -> Any:
        results: list[Any] = []

        def within() -> None:
            with turns.leased():
                try:
                    results.append(work())
                except Exception as error:
                    results.append(error)

        thread = threading.Thread(target=within)
        thread.start()
        thread.join()
        if isinstance(results[0], Exception):
            raise results[0]
        return results[0]

    yield run
    run(lambda: connection.close())


def _thrice(statement: str, *values: Any) -> list[Any]:
    return [fetch(statement, each) for each in values for _ in range(3)]


@pytest.mark.parametrize(
    ("statement", "values"),
    [
        ("select %s, %s, %s, %s, %s", ((1 << 63) - 1, b"\x00\xff", [1, 2], "text", True)),
        ("select %(a)s + 1, %(b)s, %(a)s", {"a": 1, "b": "text", "c": 0}),
        ("select '{\"a\": [9007199254740993]}'::jsonb, null, array[array[1, 2]]", ()),
        ("select 1 where %s < 0", (5,)),
        ("select n, '%%' from generate_series(1, %s) n", (300,)),
    ],
)
def test_rows_are_those_of_a_cursor(in_turn, statement, values):
    assert in_turn(lambda: _thrice(statement, values)) == in_turn(lambda: [_by_cursor(statement, values)] * 3)
    assert any("select" in text for (text,) in in_turn(lambda: fetch(_OWN)))


def _by_cursor(statement: str, values: Any) -> Any:
    with transaction.atomic():
        return fetch(statement, values)


def test_values_may_be_of_other_types_than_those_before(in_turn):
    rows = in_turn(lambda: _thrice("select %s::bigint, %s::bigint[]", (1, [2]), (None, []), (3, [4])))
    assert rows == [[(1, [2])]] * 3 + [[(None, [])]] * 3 + [[(3, [4])]] * 3


def test_what_was_not_used_for_long_is_prepared_no_more(in_turn, monkeypatch):
    monkeypatch.setattr(prepared, "MAX_STATEMENTS", 3)

    def read() -> Any:
        for number in (1, 2, 3, 1, 4):
            _thrice(f"select {number}", ())
        return sorted(text for (text,) in fetch(_OWN))

    assert in_turn(read) == ["select 1", "select 4"]
    assert in_turn(lambda: fetch("select 3")) == [(3,)]


def test_statements_that_the_connection_has_lost_are_prepared_again(in_turn):
    def read() -> list[Any]:
        rows = _thrice("select %s + 1", (1,))
        connection.connection.execute("deallocate all")
        return rows + _thrice("select %s + 1", (1,))

    assert in_turn(read) == [[(2,)]] * 6


def test_a_transaction_that_is_rolled_back_does_no_harm_to_the_statements_after_it(in_turn):
    def read() -> list[Any]:
        rows = _thrice("select %s + 1", (1,))
        with transaction.atomic():
            rows += _thrice("select %s + 1", (1,))
            transaction.set_rollback(True)
        return rows + _thrice("select %s + 1", (1,))

    assert in_turn(read) == [[(2,)]] * 9


def test_an_error_is_psycopgs_own_and_the_connection_goes_on(in_turn):
    def fail() -> None:
        for denominator in (1, 1, 0):
            fetch("select 1 / %s", (denominator,))

    for _ in range(3):
        with pytest.raises(psycopg.errors.DivisionByZero):
            in_turn(fail)
    assert in_turn(lambda: fetch("select 1 / %s", (1,))) == [(1,)]


def test_a_connection_that_was_closed_by_the_server_is_replaced(in_turn):
    (before,) = in_turn(lambda: _thrice("select pg_backend_pid()", ()))[-1][0]
    with psycopg.connect(**_address()) as other:
        other.execute("select pg_terminate_backend(%s, 5000)", (before,))
    (after,) = in_turn(lambda: _thrice("select pg_backend_pid()", ()))[-1][0]
    assert before != after


def test_a_server_that_dies_with_a_warning_has_lost_its_connection(ledger_tables, tmp_path):
    with psycopg.connect(**_address()) as known:
        host, port = known.info.host, known.info.port
    if not host.startswith("/"):
        pytest.skip("the server has no socket in a folder")
    # What PostgreSQL says when another of its processes has crashed.
    text = b"SWARNING\0C57P02\0Mterminating connection\0\0"
    warning = b"N" + (4 + len(text)).to_bytes(4, "big") + text
    with _between(f"{host}/.s.PGSQL.{port}", tmp_path / f".s.PGSQL.{port}") as die:
        client = psycopg.connect(**_address() | {"host": str(tmp_path)}, autocommit=True)
        statements = prepared.PreparedStatements(client.cursor())
        assert [statements.rows("select 7", ()) for _ in range(3)] == [None, [(7,)], [(7,)]]
        die(warning)

        with pytest.raises(psycopg.OperationalError) as raised:
            statements.rows("select 7", ())

    assert is_outage(raised.value)
    assert client.closed


@contextmanager
def _between(server: str, path: Path) -> Iterator[Callable[[bytes], None]]:
    """Pass on what one client at `path` and the server say, until the server "dies" with last words."""
    with socket.socket(socket.AF_UNIX) as listening, socket.socket(socket.AF_UNIX) as there:
        listening.bind(str(path))
        listening.listen()
        there.connect(server)
        here: list[socket.socket] = []

        def pass_on(source: socket.socket, target: socket.socket) -> None:
            with suppress(OSError):
                while data := source.recv(65536):
                    target.sendall(data)

        def answer() -> None:
            here.append(listening.accept()[0])
            threading.Thread(target=pass_on, args=(here[0], there), daemon=True).start()
            pass_on(there, here[0])

        thread = threading.Thread(target=answer, daemon=True)
        thread.start()

        def die(last_words: bytes) -> None:
            here[0].sendall(last_words)
            there.shutdown(socket.SHUT_RDWR)
            here[0].shutdown(socket.SHUT_RDWR)
            here[0].close()
            thread.join()

        yield die


def test_a_table_that_is_changed_between_two_requests_gives_the_new_columns(in_turn):
    statement = "select * from changing where a = %s"
    with psycopg.connect(**_address(), autocommit=True) as other:
        other.execute("create table changing (a int, b bytea)")
        other.execute("insert into changing values (1, '\\x01')")
        try:
            assert in_turn(lambda: _thrice(statement, (1,))) == [[(1, b"\1")]] * 3
            other.execute("alter table changing drop b")
            other.execute("alter table changing add b jsonb default '[2]', add c int")
            assert in_turn(lambda: _thrice(statement, (1,))) == [[(1, [2], None)]] * 3
        finally:
            other.execute("drop table changing")


def _address() -> dict[str, Any]:
    given = connection.get_connection_params()
    return {name: given[name] for name in ("dbname", "user", "password", "host", "port") if given.get(name)}
