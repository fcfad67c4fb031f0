"""Turns of requests, and the database connections that go with them."""

import threading
from contextlib import suppress

import psycopg
import pytest
from django.db import connection, connections, transaction

from mirror.core.db.reading import sql
from mirror.core.db.reading.sql import fetch_one
from mirror.core.db.scheduling.request_scheduler import RequestScheduler, released
from tests.waiting import PATIENCE_SECONDS


def _backend() -> int:
    row = fetch_one("select pg_backend_pid()")
    assert row is not None
    return int(row[0])


def _in_a_thread(turns: RequestScheduler, found: list[int]) -> None:
    with turns.leased():
        found.append(_backend())
        found.append(len(connections.all(initialized_only=True)))
    found.append(len(connections.all(initialized_only=True)))


@pytest.fixture
def turns(ledger_tables: None):
    """One turn, whose connection is closed in the end."""
    made = RequestScheduler(1)
    yield made

    def close() -> None:
        with made.leased():
            connection.close()

    thread = threading.Thread(target=close)
    thread.start()
    thread.join()


def test_threads_that_take_the_same_turn_share_its_connection(turns):
    found: list[list[int]] = [[], [], []]
    for each in found:
        thread = threading.Thread(target=_in_a_thread, args=(turns, each))
        thread.start()
        thread.join()

    assert len({backend for backend, _, _ in found}) == 1
    assert [counts for _, *counts in found] == [[1, 0]] * 3


def test_a_thread_that_leaves_its_turn_lets_another_have_it(turns):
    backends: list[int] = []

    def leave() -> None:
        with turns.leased():
            backends.append(_backend())
            with released():
                other: list[int] = []
                thread = threading.Thread(target=_in_a_thread, args=(turns, other))
                thread.start()
                thread.join()
                backends.append(other[0])
            backends.append(_backend())

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()

    assert len(backends) == 3
    assert len(set(backends)) == 1


def test_a_turn_is_not_left_within_a_transaction(turns):
    backends: list[int] = []

    def leave() -> None:
        with turns.leased(), transaction.atomic():
            backends.append(_backend())
            with released():
                backends.append(_backend())

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()

    assert len(backends) == 2
    assert len(set(backends)) == 1


def _worked(turns: RequestScheduler) -> bool:
    done = threading.Event()
    turns.submit(done.set)
    return done.wait(PATIENCE_SECONDS)


@pytest.mark.parametrize("error", [MemoryError, SystemExit])
def test_work_that_ends_in_whatever_way_leaves_its_turn_to_the_next(turns, error):
    def fail() -> None:
        raise error

    turns.submit(fail)

    assert _worked(turns)


def test_a_turn_is_not_lost_when_there_can_be_no_more_threads(turns, monkeypatch):
    def no_more(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", no_more)
        with pytest.raises(RuntimeError):
            turns.submit(lambda: None)

    assert _worked(turns)


def test_a_statement_is_not_begun_that_was_interrupted_before_it_could_be_cancelled(turns):
    found: list[str] = []

    def ask() -> None:
        with turns.leased():
            fetch_one("select 1")
            (lease,) = turns._used
            wrapper = lease.connection
            assert wrapper is not None
            lease.abandoned = lease.interrupted = True
            with suppress(psycopg.errors.QueryCanceled):
                sql.read(wrapper, wrapper, "select 1", (), sql.TIMEOUT)
                found.append("answered")

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()

    assert not found


def test_a_connection_whose_statement_may_be_cancelled_later_is_not_used_again(turns):
    found: list[int] = []

    def ask(*, spoil: bool) -> None:
        with turns.leased():
            found.append(_backend())
            (lease,) = turns._used
            lease.is_unusable = spoil

    for spoil in (False, True, False):
        thread = threading.Thread(target=ask, kwargs={"spoil": spoil})
        thread.start()
        thread.join()

    assert found[0] == found[1] != found[2]
