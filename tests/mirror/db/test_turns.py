"""Turns of requests, and the database connections that go with them."""

import threading

import pytest
from django.db import connection, connections, transaction

from mirror.db.sql import fetch_one
from mirror.db.turns import Turns, left


def _backend() -> int:
    row = fetch_one("select pg_backend_pid()")
    assert row is not None
    return int(row[0])


def _in_a_thread(turns: Turns, found: list[int]) -> None:
    with turns.taken():
        found.append(_backend())
        found.append(len(connections.all(initialized_only=True)))
    found.append(len(connections.all(initialized_only=True)))


@pytest.fixture
def turns(ledger_tables: None):
    """One turn, whose connection is closed in the end."""
    made = Turns(1)
    yield made

    def close() -> None:
        with made.taken():
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
        with turns.taken():
            backends.append(_backend())
            with left():
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
        with turns.taken(), transaction.atomic():
            backends.append(_backend())
            with left():
                backends.append(_backend())

    thread = threading.Thread(target=leave)
    thread.start()
    thread.join()

    assert len(backends) == 2
    assert len(set(backends)) == 1
