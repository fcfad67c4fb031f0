"""GET /: what this node is and holds."""

import re
import threading
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from django.contrib.staticfiles import finders
from django.db import connection, connections

from ledger.models import RecordFile, Transaction
from mirror.core.db.availability import outage
from mirror.models import LoaderState
from mirror.web.pages import home
from tests.build import SECOND, START, Build
from tests.waiting import wait_until

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def forgotten(settings_of: Callable[..., None], monkeypatch) -> None:
    """The page of another test is not shown again, and time stands still."""
    home._cache.clear()
    settings_of({"clock.now": float(START // SECOND)})
    LoaderState.objects.all().delete()


def text(page: str) -> str:
    """Return what a reader sees of a page."""
    return " ".join(re.sub(r"<[^>]+>", " ", page.partition("<body")[2]).split())


def shown(client) -> str:
    answer = client.get("/")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    return str(answer.content.decode())


def fail(activity: str, *, seconds_ago: int = 0) -> None:
    """Have a loader that has met a problem, and says all about it."""
    now = datetime.fromtimestamp(START // SECOND - seconds_ago, UTC)
    problem = {
        "file": "b.rcd",
        "position": "",
        "cause": "s3://streams can't be listed: 403 of 10.1.2.3",
        "cure": "Check importer.downloader.endpointOverride.",
        "signatures": None,
    }
    LoaderState.objects.create(
        id=1,
        activity=activity,
        source="s3://streams",
        following=True,
        process=77123,
        host="ada-host",
        started=now,
        reported=now,
        problem=problem,
    )


def test_a_node_says_its_network_its_last_block_and_how_far_its_history_reaches(client, build: Build) -> None:
    build.block(7, end=START - 7200 * SECOND)
    build.block(8, end=START - 3 * SECOND)
    page = text(shown(client))
    assert "A mirror node of the network demo" in page
    assert "Last block 8 Age 3 seconds" in page
    first, last = RecordFile.objects.order_by("consensus_end").values_list("consensus_end", flat=True)
    assert last - first == 7197 * SECOND
    assert re.search(r"From block 7 of [\d: -]+ UTC to block 8 of [\d: -]+ UTC", page)


def test_a_node_that_has_dropped_old_transactions_says_when_the_kept_ones_begin(client, build: Build) -> None:
    build.block(7, end=START - 9 * SECOND)
    build.block(8, end=START)
    build.transaction(consensus_timestamp=START - 9 * SECOND)
    assert "are kept from" not in shown(client)
    Transaction.objects.all().delete()
    build.transaction(consensus_timestamp=START - 4 * SECOND)
    home._cache.clear()
    began = datetime.fromtimestamp(START // SECOND - 4, UTC)
    assert f"Transactions are kept from {began:%Y-%m-%d %H:%M:%S} UTC on." in text(shown(client))


def test_an_empty_node_says_so(client) -> None:
    page = shown(client)
    assert "No block is loaded yet." in page
    assert "Last block" not in page


def test_a_node_that_needs_help_is_marked(client, build: Build) -> None:
    assert 'class="sentence well"' in shown(client)
    fail("failed")
    home._cache.clear()
    assert 'class="sentence unwell"' in shown(client)


@pytest.mark.parametrize("with_block", [False, True])
@pytest.mark.parametrize("activity", LoaderState.Activity.values)
def test_strangers_are_told_no_process_host_file_or_source(
    client, build: Build, activity: str, with_block: bool
) -> None:
    if with_block:
        build.block(7, end=START - 7200 * SECOND)
    # Without its lock a loader that has not ended counts as killed.
    for reported in (0, 600):
        LoaderState.objects.all().delete()
        fail(activity, seconds_ago=reported)
        home._cache.clear()
        page = shown(client)
        (sentence,) = re.findall(r'<p class="sentence \w+">(.*?)</p>', page)
        assert sentence
        for secret in ("77123", "ada-host", "streams", "b.rcd", "403", "10.1.2.3", "importer."):
            assert secret not in page


def test_a_stuck_node_says_that_someone_has_to_look_after_it(client, build: Build) -> None:
    build.block(7, end=START - 7200 * SECOND)
    fail("stuck")
    assert "Stuck: someone has to look after this node." in text(shown(client))


def test_the_numbers_of_rows_are_estimates(client, build: Build) -> None:
    for second in range(3):
        build.transaction(consensus_timestamp=START + second * SECOND)
    with connection.cursor() as cursor:
        cursor.execute("analyze transaction")
    assert re.search(r"transactions 3 .*Numbers of rows are PostgreSQL’s estimates\.", text(shown(client)))


def test_while_the_database_is_away_the_page_says_so(client) -> None:
    databases, answers = connections.settings["default"], []
    host = databases["HOST"]

    def ask() -> None:
        answers.append(client.get("/"))
        connections["default"].close()

    # A thread of its own has a connection of its own.
    asking = threading.Thread(target=ask)
    databases["HOST"] = "/nowhere"
    try:
        asking.start()
        asking.join()
    finally:
        databases["HOST"] = host
    (answer,) = answers
    assert answer.status_code == 503
    assert "The database is away." in text(answer.content.decode())
    # Until then a thread asks whether it is back.
    wait_until(lambda: not outage._writing)


def test_without_tables_the_page_says_how_to_make_them(client) -> None:
    with connection.cursor() as cursor:
        cursor.execute("alter table record_file rename to nothing")
    answer = client.get("/")
    assert answer.status_code == 503
    assert "`" not in text(answer.content.decode())
    assert "<code>manage.py up</code> makes them" in answer.content.decode()


def test_all_that_it_loads_is_its_own(client) -> None:
    answer = client.get("/")
    policy = answer.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'")
    assert "unsafe" not in policy
    loaded = re.findall(r'<(?:link|script|img)[^>]+(?:href|src)="([^"]+)"', answer.content.decode())
    assert len(loaded) == 4
    for path in loaded:
        name = path.partition("?")[0]
        if name.startswith("/static/"):
            assert finders.find(name.removeprefix("/static/")), name
        else:
            assert client.get(name).headers["content-type"] == "image/svg+xml"


def test_every_link_of_it_leads_somewhere(client, build: Build) -> None:
    build.block(7, end=START)
    for path in set(re.findall(r'<a [^>]*href="(/[^"]*)"', shown(client))):
        # Signing in is another page; an empty node is not ready.
        assert client.get(path).status_code in (200, 302, 503 if path.startswith("/health") else 200), path


def test_a_page_is_kept_for_a_second(client, build: Build) -> None:
    assert "No block is loaded yet" in shown(client)
    build.block(7, end=START)
    assert "No block is loaded yet" in shown(client)
    home._cache.clear()
    assert "No block is loaded yet" not in shown(client)


def test_a_statement_of_the_page_has_the_time_of_those_of_the_api(client, settings_of) -> None:
    settings_of({"rest.db.statementTimeout": 77.0})
    shown(client)
    with connection.cursor() as cursor:
        cursor.execute("show statement_timeout")
        assert cursor.fetchone() == ("77s",)


def test_crawlers_read_the_pages_for_people_alone(client) -> None:
    answer = client.get("/robots.txt")
    assert answer.headers["content-type"] == "text/plain"
    assert answer.getvalue().decode().splitlines() == [
        "User-agent: *",
        "Allow: /$",
        "Allow: /docs/",
        "Disallow: /docs/search",
        "Disallow: /",
    ]


@pytest.mark.parametrize("path", ["/nothing", "/docs/nothing", "/docs/../nothing", "/robots", "/index.html"])
def test_a_browser_gets_a_page_where_nothing_is(client, path: str) -> None:
    answer = client.get(path, headers={"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
    assert (answer.status_code, answer.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert "<h1>Not found</h1>" in answer.content.decode()
    assert "Accept" in answer.headers["vary"].split(", ")


@pytest.mark.parametrize("accept", ["", "*/*", "application/json"])
@pytest.mark.parametrize("path", ["/nothing", "/docs/nothing", "/docs/../nothing", "/robots", "/index.html"])
def test_other_clients_get_json_there(client, path: str, accept: str) -> None:
    answer = client.get(path, headers={"accept": accept} if accept else {})
    assert answer.status_code == 404
    assert answer.json() == {"_status": {"messages": [{"message": "Not found"}]}}
    assert "Accept" in answer.headers["vary"].split(", ")


def test_the_api_answers_browsers_in_json_too(client) -> None:
    answer = client.get("/api/v1/nothing", headers={"accept": "text/html"})
    assert (answer.status_code, answer.json()) == (404, {"_status": {"messages": [{"message": "Not found"}]}})
