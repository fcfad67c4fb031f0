"""Reading from a replica and its primary, both real: which one is read from, and what becomes of failures."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import Any

import psycopg
import pytest
import pytest_django
from django.db import OperationalError, connections, transaction
from mirror.core.db.scheduling.request_scheduler import ClientDisconnected, RequestScheduler

from mirror.core.db import replicas
from mirror.core.db.availability import outage
from mirror.core.db.reading import sql
from mirror.core.db.replicas import Reader, Server
from tests.replicated import Replicated
from tests.waiting import PATIENCE_SECONDS, wait_until

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
) -> Iterator[Reader]:
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


def test_statement_reads_from_the_replica(reader: Reader) -> None:
    assert reads_replica()
    assert connections["default"].connection is None


def test_statements_of_a_transaction_read_from_the_primary(reader: Reader) -> None:
    assert reads_replica()
    with transaction.atomic():
        assert not reads_replica()
    assert reads_replica()


def test_values_and_rows_are_as_from_one_database(reader: Reader) -> None:
    statement = "select %(number)s + 1, %(text)s::text, %(nothing)s::bigint from generate_series(1, 2)"
    for nothing in (None, 5, None):
        rows = sql.fetch(statement, {"number": 6, "text": "six", "nothing": nothing})
        assert rows == [(7, "six", nothing)] * 2
    assert sql.fetch("select 1 where false") == []


def test_error_of_a_statement_is_raised(reader: Reader) -> None:
    with pytest.raises(psycopg.errors.DivisionByZero):
        sql.fetch("select 1 / %s", (0,))
    assert reads_replica()


def test_late_replica_is_left_out_until_it_has_caught_up(
    reader: Reader, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    assert reads_replica()
    settings_of({"db.readMaxLag": 0.0})
    replicated.lag_behind()
    assert not reads_replica()
    replicated.catch_up()
    wait_until(reads_replica)


def test_replica_of_a_quiet_primary_is_read_from(
    reader: Reader, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.readMaxLag": 0.0})
    assert reads_replica()
    ((seconds,),) = replicated.on(replicated.replica, f"select {replicas.LAG}")
    assert seconds == 0


def test_late_replica_is_read_from_while_the_primary_is_away(
    reader: Reader, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.readMaxLag": 0.0})
    replicated.lag_behind()
    own: Any = connections["default"]
    own.settings_dict["HOST"] = "/nowhere"
    assert reads_replica()
    own.settings_dict["HOST"] = str(replicated.primary.paths.socket)
    wait_until(lambda: not reads_replica())


def test_conflict_with_recovery_is_tried_again_on_the_primary(reader: Reader, replicated: Replicated) -> None:
    replicated.on(replicated.primary, MAKE_CONFLICT)
    replicated.catch_up()
    assert sql.fetch("select read_on_primary()") == [("the primary",)]
    assert reads_replica()
    # The connection to the primary is still open, and may be stale.
    replicated.on(replicated.primary, END_OTHERS)
    assert sql.fetch("select read_on_primary()") == [("the primary",)]


def test_conflict_is_an_outage_while_the_primary_is_away(reader: Reader, replicated: Replicated) -> None:
    replicated.on(replicated.primary, MAKE_CONFLICT)
    replicated.catch_up()
    own: Any = connections["default"]
    own.settings_dict["HOST"] = "/nowhere"
    with pytest.raises(psycopg.OperationalError, match="conflict with recovery") as raised:
        sql.fetch("select read_on_primary()")
    assert outage.is_outage(raised.value)


def test_statement_whose_session_is_ended_is_run_again(reader: Reader, replicated: Replicated) -> None:
    assert reads_replica()
    replicated.on(replicated.replica, END_OTHERS)
    assert reads_replica()
    own: Any = connections["default"]
    own.replica.checked_until = float("inf")
    replicated.on(replicated.replica, END_OTHERS)
    assert not reads_replica()
    assert reads_replica()
    replicated.replica.stop()
    assert not reads_replica()
    replicated.on(replicated.primary, END_OTHERS)
    assert not reads_replica()
    replicated.restart()
    wait_until(reads_replica)


def test_replica_is_left_out_while_it_is_down(
    reader: Reader, replicated: Replicated, caplog: pytest.LogCaptureFixture
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


def test_no_server_that_answers_is_an_outage(reader: Reader, replicated: Replicated) -> None:
    own: Any = connections["default"]
    own.settings_dict["HOST"] = "/nowhere"
    replicated.replica.stop()
    try:
        with pytest.raises(OperationalError) as raised:
            reads_replica()
        assert outage.is_outage(raised.value)
    finally:
        replicated.restart()
    assert reads_replica()


def test_silent_replica_is_left_out_and_its_statements_run_elsewhere(
    reader: Reader, replicated: Replicated, settings_of: Callable[..., None]
) -> None:
    settings_of({"db.silentAfter": 0.4})
    ended = threading.Event()

    def probe() -> None:
        while not ended.is_set():
            reader.probe(lambda _: True)

    assert reads_replica()
    # Another connection may have found out already.
    reader._leave_out(replicated.servers()[0])
    pids = replicated.replica.pids()
    for pid in pids:
        os.kill(pid, signal.SIGSTOP)
    try:
        with ThreadPoolExecutor(1) as thread:
            thread.submit(probe)
            try:
                assert not reads_replica()
            finally:
                ended.set()
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)
    wait_until(reads_replica)


def test_connection_is_replaced_in_the_course_of_time(
    reader: Reader, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas, "_MAX_AGE_SECONDS", 0.0)
    processes = {sql.fetch("select pg_backend_pid()")[0] for _ in range(3)}
    assert len(processes) == 3
    assert reads_replica()


def test_statement_of_a_lease_is_interrupted_on_the_replica(reader: Reader, replicated: Replicated) -> None:
    scheduler, rows, done = RequestScheduler(1), list[Any](), threading.Event()

    def work() -> None:
        try:
            with suppress(ClientDisconnected):
                rows.extend(sql.fetch("select pg_is_in_recovery() from pg_sleep(600)"))
        finally:
            own: Any = connections["default"]
            own.replica.close()
            done.set()

    scheduler.submit(work)
    runs = """
        select exists (select from pg_stat_activity where query like %s and pid <> pg_backend_pid())"""
    replicated.wait_for(replicated.replica, runs, ("%pg_sleep(600)%",))
    ((lease, of_lease),) = scheduler.leases_in_use_for(0.0)
    scheduler.abandon(lease, of_lease)
    assert done.wait(PATIENCE_SECONDS)
    assert rows == []
