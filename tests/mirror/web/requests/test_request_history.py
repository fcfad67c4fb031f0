"""Rows of node_minute, from the counts of all processes."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mirror.core.db.availability import bounded_query
from mirror.core.metrics import http, ingest
from mirror.models import NodeMinute
from mirror.web.requests.request_history import Minutes
from tests.build import SECOND, START

pytestmark = pytest.mark.django_db

MINUTE = datetime(2026, 11, 22, 17, 30, tzinfo=UTC)
BLOCKS, CALL = "/api/v1/blocks", "/api/v1/contracts/call"


def at_once(question: Callable[[], None], seconds: float) -> None:
    """Ask by the connection of the test."""
    question()


def rows() -> list[Any]:
    return list(NodeMinute.objects.order_by("minute").values())


def test_a_minute_has_its_requests_of_the_api_their_times_and_what_was_loaded(build):
    http.REQUESTS.labels(BLOCKS, "GET", "500").observe(5.0)
    minutes = Minutes(at_once)
    for _ in range(98):
        http.REQUESTS.labels(BLOCKS, "GET", "200").observe(0.002)
    http.REQUESTS.labels(BLOCKS, "GET", "500").observe(0.002)
    http.REQUESTS.labels(CALL, "POST", "503").observe(2.0)
    http.REQUESTS.labels("/admin", "GET", "500").observe(2.0)
    ingest.TRANSACTIONS.inc(70)

    minutes.end(MINUTE)
    ingest.TRANSACTIONS.inc(5)
    minutes.end(MINUTE + timedelta(minutes=1))

    first, second = rows()
    assert first.pop("p50_milliseconds") == pytest.approx(1.26, abs=0.01)
    assert first.pop("p99_milliseconds") == pytest.approx(2.5)
    assert first == {
        "minute": MINUTE,
        "requests": 100,
        "failures": 1,
        "refused": 1,
        "lag_seconds": None,
        "transactions": 70,
    }
    assert (second["requests"], second["p99_milliseconds"], second["transactions"]) == (0, None, 5)


def test_of_several_processes_the_one_that_has_counted_most_writes_the_minute():
    whole = Minutes(at_once)
    http.REQUESTS.labels(BLOCKS, "GET", "200").observe(0.1)
    since_then = Minutes(at_once)

    since_then.end(MINUTE)
    whole.end(MINUTE)
    since_then.end(MINUTE)

    assert [row["requests"] for row in rows()] == [1]


def test_minutes_are_kept_for_two_weeks():
    minutes = Minutes(at_once)
    for days in (15, 13, 0):
        minutes.end(MINUTE - timedelta(days=days))

    assert [row["minute"] for row in rows()] == [MINUTE - timedelta(days=13), MINUTE]


def test_minutes_during_which_the_database_was_away_are_written_later():
    is_away = True

    def ask(question: Callable[[], None], seconds: float) -> None:
        if is_away:
            raise bounded_query.QueryTimeout
        question()

    minutes = Minutes(ask)
    http.REQUESTS.labels(BLOCKS, "GET", "503").observe(0.1)
    minutes.end(MINUTE)
    is_away = False
    minutes.end(MINUTE + timedelta(minutes=1))

    assert [(row["minute"], row["refused"]) for row in rows()] == [
        (MINUTE, 1),
        (MINUTE + timedelta(minutes=1), 0),
    ]


def test_a_minute_has_the_age_of_its_last_block(build, settings_of):
    build.block(7, end=START)
    settings_of({"clock.now": START / SECOND + 2.5})

    Minutes(at_once).end(MINUTE)

    assert [row["lag_seconds"] for row in rows()] == [2.5]
