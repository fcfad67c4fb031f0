"""Reading from a replica and its primary, both real: which one is read from, and what becomes of failures."""

import os
import signal
from collections.abc import Callable, Iterator

import psycopg
import pytest
import pytest_django
from django.db import connections, transaction

from mirror.core.db import replicas
from mirror.core.db.availability import outage
from mirror.core.db.reading import sql
from mirror.core.db.replicas import ReplicaReader, Server
from tests.replicated import Replicated
from tests.waiting import wait_until

IS_REPLICA = "select pg_is_in_recovery()"
# A statement that a replica cancels, as it would if it had to replay the removal of what is read.
MAKE_CONFLICT = """
    create or replace function read_on_primary() returns text language plpgsql as $$
        begin
            if pg_is_in_recovery() then
                raise exception using errcode = '40001', message = 'conflict with recovery';
            end if;
            return 'the primary';
        end $$"""
END_OTHERS = """
    select pg_terminate_backend(pid) from pg_stat_activity
    where backend_type = 'client backend' and pid <> pg_backend_pid()"""


@pytest.fixture
def reader(
    replicated: Replicated,
    django_db_blocker: pytest_django.DjangoDbBlocker,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[ReplicaReader]:
    """Read from the replica, which has all blocks; check its lag each time, and leave it out briefly."""
    monkeypatch.setattr(replicas, "_CHECK_SECONDS", 0.0)
    monkeypatch.setattr(replicas, "_LEFT_OUT_SECONDS", 0.2)
    replicated.add_block(replicated.last_block(replicated.primary) + 1)
    replicated.catch_up()
    with django_db_blocker.unblock(), replicated.reading() as reader:
        yield reader
    replicated.catch_up()


def reads_replica() -> bool:
    return sql.fetch(IS_REPLICA) == [(True,)]


def test_statement_reads_from_the_replica(reader: ReplicaReader) -> None:
    assert reads_replica()
    assert connections["default"].connection is None


def test_statements_of_a_transaction_read_from_the_primary(reader: ReplicaReader) -> None:
    assert reads_replica()
    with transaction.atomic():
        assert not reads_replica()
    assert reads_replica()


def test_values_and_rows_are_as_from_one_database(reader: ReplicaReader) -> None:
    statement = "select %(number)s + 1, %(text)s::text, %(nothing)s::bigint from generate_series(1, 2)"
    for nothing in (None, 5, None):
        rows = sql.fetch(statement, {"number": 6, "text": "six", "nothing": nothing})
        assert rows == [(7, "six", nothing)] * 2
    assert sql.fetch("select 1 where false") == []


def test_error_of_a_statement_is_raised(reader: ReplicaReader) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        sql.fetch("select 1 / %s", (0,))
    assert reads_replica()


def test_late_replica_is_left_out_until_it_has_caught_up(
    reader: ReplicaReader, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    assert reads_replica()
    settings_of({"db.readMaxLag": 0.0})
    replicated.lag_behind()
    assert not reads_replica()
    replicated.catch_up()
    wait_until(reads_replica)


def test_replica_of_a_quiet_primary_is_read_from(
    reader: ReplicaReader, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.readMaxLag": 0.0})
    assert reads_replica()
    ((seconds,),) = replicated.on(replicated.replica, f"select {replicas.LAG}")
    assert seconds == 0


def test_late_replica_is_read_from_while_the_primary_is_away(
    reader: ReplicaReader, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.readMaxLag": 0.0})
    replicated.lag_behind()
    replicated.move_primary(reader, "/nowhere")
    assert reads_replica()
    replicated.move_primary(reader, str(replicated.primary.paths.socket))
    wait_until(lambda: not reads_replica())


def test_conflict_with_recovery_is_tried_again_on_the_primary(
    reader: ReplicaReader, replicated: Replicated
) -> None:
    replicated.on(replicated.primary, MAKE_CONFLICT)
    replicated.catch_up()
    assert sql.fetch("select read_on_primary()") == [("the primary",)]
    assert reads_replica()
    # The connection to the primary is still open, and may be stale.
    replicated.on(replicated.primary, END_OTHERS)
    assert sql.fetch("select read_on_primary()") == [("the primary",)]


def test_conflict_is_an_outage_while_the_primary_is_away(
    reader: ReplicaReader, replicated: Replicated
) -> None:
    replicated.on(replicated.primary, MAKE_CONFLICT)
    replicated.catch_up()
    replicated.move_primary(reader, "/nowhere")
    with pytest.raises(psycopg.OperationalError, match="conflict with recovery") as raised:
        sql.fetch("select read_on_primary()")
    assert outage.is_outage(raised.value)


def test_statement_whose_session_is_ended_is_run_again(reader: ReplicaReader, replicated: Replicated) -> None:
    assert reads_replica()
    replicated.on(replicated.replica, END_OTHERS)
    # On another connection, or on the primary.
    reads_replica()
    wait_until(reads_replica)
    replicated.replica.stop()
    assert not reads_replica()
    replicated.on(replicated.primary, END_OTHERS)
    assert not reads_replica()
    replicated.restart()
    wait_until(reads_replica)


def test_replica_is_left_out_while_it_is_down(
    reader: ReplicaReader, replicated: Replicated, caplog: pytest.LogCaptureFixture
) -> None:
    assert reads_replica()
    replicated.replica.stop()
    assert not reads_replica()
    replicated.restart()
    wait_until(reads_replica)


def test_other_replica_is_read_from_while_one_is_away(
    replicated: Replicated, django_db_blocker: pytest_django.DjangoDbBlocker
) -> None:
    replicated.catch_up()
    away = Server("away", {**replicated.servers()[0].settings, "HOST": "/nowhere"})
    with django_db_blocker.unblock():
        for _ in range(5):
            with replicated.reading(away):
                assert reads_replica()
                assert connections["default"].connection is None


def test_no_server_that_answers_is_an_outage(reader: ReplicaReader, replicated: Replicated) -> None:
    replicated.move_primary(reader, "/nowhere")
    replicated.replica.stop()
    try:
        with pytest.raises(psycopg.OperationalError) as raised:
            reads_replica()
        assert outage.is_outage(raised.value)
    finally:
        replicated.restart()
    assert reads_replica()


def test_silent_replica_is_left_out_and_its_statements_run_elsewhere(
    reader: ReplicaReader, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.silentAfter": 2.0})
    assert reads_replica()
    pids = replicated.replica.pids()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        assert not reads_replica()
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    wait_until(reads_replica)
