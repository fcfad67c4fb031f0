"""The charts and the recent errors of the admin's first page."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from mirror.core.processes import exits
from mirror.models import LoaderState, NodeMinute
from mirror.node.admin import dashboard
from mirror.node.health import status
from tests.build import SECOND, START, Build
from tests.mirror.node.health.test_status import PROBLEM, loader

pytestmark = pytest.mark.django_db

MAX_STATEMENTS = 3
HOUR = 3600 * SECOND


@pytest.fixture(autouse=True)
def _own_data_folder(settings: Any, tmp_path: Path) -> None:
    settings.DATA_DIR = tmp_path


def charts() -> dict[str, dashboard.Chart]:
    return {chart.title: chart for chart in dashboard.charts(status.read())}


def test_charts_of_blocks_end_with_the_last_block(build: Build) -> None:
    for number in range(4):
        build.block(number, end=START + number * 90 * SECOND, count=180)
    # Before the hours that are drawn.
    build.block(9, end=START - 4 * HOUR, count=1_000_000)

    rate, between = list(charts().values())[:2]

    # Three minutes a point: two blocks in each.
    assert rate.lines[0][1] == [2.0, 2.0]
    assert between.lines[0][1] == [90.0, 90.0]
    assert rate.labels == ["22:14", "22:17"]
    assert rate.words == "To the last block, 2023-11-14 22:17 UTC: 2.0 on average, 2.0 at most."


def test_types_and_failures_are_those_of_the_latest_transactions(build: Build) -> None:
    build.block(1, end=START)
    for result in (22, 22, 10):
        build.transaction(result=result, type=14)
    build.transaction(type=11)

    chart = charts()["Types of transactions, and failures"]

    assert chart.labels == ["CRYPTOTRANSFER", "CRYPTOCREATEACCOUNT"]
    assert chart.lines == [("All", [3, 1]), ("Failed", [1, 0])]
    assert chart.words == "Of the latest 4 transactions, 1 failed (25.0%)."


def test_requests_and_their_times_are_those_of_the_last_hours(build: Build) -> None:
    now = datetime.now(UTC).replace(second=0, microsecond=0)
    common = {"failures": 1, "refused": 2, "transactions": 0, "lag_seconds": 3.0}
    for ago, requests in ((5, 10), (4, 30), (600, 99)):
        NodeMinute.objects.create(
            minute=now - timedelta(minutes=ago),
            requests=requests,
            p50_milliseconds=2.0,
            p99_milliseconds=40.0,
            **common,
        )
    loader("waiting", following=True)
    build.block(1)

    drawn = charts()

    asked, times = drawn["Requests of the API per minute"], drawn["Time of an answer, in milliseconds"]
    assert asked.lines == [("Requests", [10, 30]), ("Failed", [1, 1]), ("Refused", [2, 2])]
    assert asked.words == "In 2 minutes: 40 requests, 2 failed, 4 were refused."
    assert times.words == "99 % of each minute's requests were answered in 40 ms or less."
    assert drawn["Seconds behind the clock"].lines == [("Seconds", [3.0, 3.0])]
    assert json.loads(asked.data)["datasets"][0]["data"] == [10, 30]


def test_what_is_there_once_is_in_the_singular(build: Build) -> None:
    build.block(1, end=START)
    build.transaction()
    NodeMinute.objects.create(
        minute=datetime.now(UTC).replace(second=0, microsecond=0),
        requests=1,
        failures=0,
        refused=1,
        transactions=0,
    )

    drawn = charts()

    words = drawn["Requests of the API per minute"].words
    assert words == "In 1 minute: 1 request, 0 failed, 1 was refused."
    words = drawn["Types of transactions, and failures"].words
    assert words == "Of the latest 1 transaction, 0 failed (0.0%)."


def test_commands_in_the_sentence_are_marked_and_nothing_else_becomes_html(admin_client: Client) -> None:
    LoaderState.objects.all().delete()
    page = admin_client.get("/admin/").content.decode()
    assert "<code>manage.py up</code> makes the demo network" in page

    loader("failed", problem=PROBLEM | {"file": "<b>.rcd", "cure": "Run `manage.py <i>`."})
    page = admin_client.get("/admin/").content.decode()
    assert page.count("&lt;b&gt;.rcd") == 2
    assert page.count("<code>manage.py &lt;i&gt;</code>") == 2
    assert "`" not in page.partition("<body")[2]


def test_charts_take_few_statements(build: Build) -> None:
    assert charts() == {}
    build.block(1)
    build.transaction()
    now = status.read()

    with CaptureQueriesContext(connection) as queries:
        list(dashboard.charts(now))

    assert len(queries) <= MAX_STATEMENTS
    assert all(" limit " in query["sql"].lower() for query in queries)


def test_what_went_wrong_says_what_is_done() -> None:
    loader("stuck", problem=PROBLEM)
    for number in range(9):
        exits.record(f"web worker {number}", "was killed by SIGKILL")

    first, *others = dashboard.incidents(status.read())

    assert first.when == "now"
    assert "no consensus" in first.what
    assert [each.what for each in others] == [
        f"The web worker {number} was killed by SIGKILL" for number in (8, 7, 6, 5, 4)
    ]
    assert others[0].then == "It is started again."
