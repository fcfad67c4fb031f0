"""A few of granian's threads take requests and work on them; the others rest."""

import io
import threading
import time
from collections.abc import Iterable
from queue import SimpleQueue
from typing import Any

import pytest
from django.db import connection

from mirror.core.db.reading.sql import fetch_one
from mirror.web.requests import ready_threads
from mirror.web.requests.gateway import Gateway
from mirror.web.requests.ready_threads import ReadyThreads
from tests.mirror.web.environment import Protocol, environment
from tests.waiting import PATIENCE_SECONDS, wait_until


def _end_request(threads: ReadyThreads) -> threading.Thread:
    """Begin and end a request in another thread, and return that."""

    def take() -> None:
        threads.begin()
        threads.end()

    thread = threading.Thread(target=take, daemon=True)
    thread.start()
    return thread


def test_threads_beyond_the_number_rest_until_one_is_held_up(monkeypatch):
    monkeypatch.setattr(ready_threads, "_REST_SECONDS", PATIENCE_SECONDS)
    threads = ReadyThreads(1)
    threads.begin()
    threads.end()
    resting = _end_request(threads)
    wait_until(lambda: not threads._busy)
    threads.check()
    assert resting.is_alive()

    threads.begin()
    threads.proceed(time.monotonic() - 1)
    threads.check()
    resting.join(PATIENCE_SECONDS / 2)
    assert not resting.is_alive()


def test_each_thread_that_a_slow_body_holds_up_is_replaced(monkeypatch):
    monkeypatch.setattr(ready_threads, "_REST_SECONDS", PATIENCE_SECONDS)
    threads = ReadyThreads(1)
    woken: SimpleQueue[threading.Thread] = SimpleQueue()
    body_comes = threading.Event()

    def take_two() -> None:
        """Answer a request of a burst, and then wait for a body."""
        threads.begin()
        threads.end()
        woken.put(threading.current_thread())
        threads.begin()
        body_comes.wait()

    taking = [threading.Thread(target=take_two, daemon=True) for _ in range(4)]
    for thread in taking:
        thread.start()

    def all_have_woken() -> bool:
        threads.check()
        return woken.qsize() == len(taking)

    wait_until(all_have_woken)
    body_comes.set()


def test_a_thread_that_reads_a_body_is_replaced_at_once(monkeypatch):
    monkeypatch.setattr(ready_threads, "_REST_SECONDS", PATIENCE_SECONDS)
    threads = ReadyThreads(1)
    threads.begin()
    threads.end()
    resting = _end_request(threads)
    wait_until(lambda: not threads._busy)
    threads.begin()
    threads.hand_over()
    resting.join(PATIENCE_SECONDS / 2)
    assert not resting.is_alive()
    assert set(threads._ready) == {resting.ident}


def test_a_thread_that_has_had_no_request_for_long_is_replaced(monkeypatch):
    monkeypatch.setattr(ready_threads, "_REST_SECONDS", 0.0)
    threads = ReadyThreads(1)
    threads.begin()
    threads.end()
    other = _end_request(threads)
    other.join()
    assert set(threads._ready) == {other.ident}


def test_threads_go_on_being_ready_while_they_work_on_one_request_after_the_other():
    threads = ReadyThreads(1)
    threads.begin()
    threads.proceed(time.monotonic() - 1)
    threads.check()
    assert not threads._ready
    threads.proceed(time.monotonic())
    threads.check()
    assert set(threads._ready) == {threading.get_ident()}


def _named(environment: dict[str, Any], start: Any) -> Iterable[bytes]:
    """Answer with the thread that works."""
    fetch_one("select 1")
    start("200 OK", [])
    return [str(threading.get_ident()).encode()]


@pytest.mark.usefixtures("ledger_tables")
@pytest.mark.parametrize(
    ("ready", "method", "is_own"), [(2, "GET", True), (2, "POST", False), (0, "GET", False)]
)
def test_short_requests_are_worked_on_by_the_thread_that_takes_them(settings_of, ready, method, is_own):
    settings_of({"web.threads": 1})
    gateway, protocol = Gateway(_named, [], ready=ready), Protocol()
    request = environment("/api/v1/blocks", method=method) | {"wsgi.input": io.BytesIO(b"unread")}
    taking = threading.Thread(target=gateway, args=(protocol, request))
    taking.start()
    taking.join()
    status, _, body = protocol.answer()
    assert (status, int(body) == taking.ident) == (200, is_own)
    assert request["wsgi.input"].read() == b""

    closed = threading.Event()

    def close() -> None:
        connection.close()
        closed.set()

    gateway.scheduler.submit(close)
    assert closed.wait(PATIENCE_SECONDS)
