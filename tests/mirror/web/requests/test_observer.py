"""What is counted of requests, and the ids by which they are named."""

import pytest
from mirror.web.requests.observer import Observer, Times

from mirror.core.metrics import http
from tests.memory import memory_kept_by

NOTHING = [0] * (len(http.REQUESTS.bounds) + 2)


@pytest.mark.parametrize(
    ("path", "route"),
    [
        ("/api/v1/accounts/0.0.1001", "/api/v1/accounts/{idOrAliasOrEvmAddress}"),
        ("/api/v1/accounts/0.0.1001/nfts/", "/api/v1/accounts/{idOrAliasOrEvmAddress}/nfts"),
        ("/api/v1/nothing", "unknown"),
        ("/admin/ledger/transaction/", "/admin"),
        ("/health/readiness", "/health"),
        ("/metrics", "/metrics"),
        ("/", "/"),
        ("/wp-login.php", "unknown"),
    ],
)
def test_requests_are_counted_by_their_documented_path(path, route):
    observer = Observer()
    before = http.REQUESTS.values()
    for _ in range(2):
        observer.end({"REQUEST_METHOD": "PUT", "PATH_INFO": path}, 200, Times(0.0))

    labels = route, "other", "200"
    counts = http.REQUESTS.values()[labels][1:], before.get(labels, NOTHING)[1:]
    assert [now - then for now, then in zip(*counts, strict=True)] == [0] * len(http.REQUESTS.bounds) + [2]


@pytest.mark.parametrize(
    ("path", "status", "route"),
    [
        ("/api/v1/blocks", 400, "/api/v1/"),
        ("/api/v1/blocks/7", 404, "/api/v1/"),
        ("/api/v1/blocks", 429, "/api/v1/"),
        ("/api/v1/blocks", 503, "/api/v1/"),
        ("/api/v1/blocks", 500, "/api/v1/blocks"),
        ("/api/v1/blocks", 304, "/api/v1/blocks"),
        ("/admin/", 404, "/admin"),
        ("/api/v1/nothing", 404, "unknown"),
    ],
)
def test_mistakes_of_clients_and_refusals_are_counted_without_their_path(path, status, route):
    labels = route, "GET", str(status)
    before = sum(http.REQUESTS.values().get(labels, NOTHING)[1:])
    Observer().end({"REQUEST_METHOD": "GET", "PATH_INFO": path}, status, Times(0.0))

    assert sum(http.REQUESTS.values()[labels][1:]) == before + 1


def test_the_time_that_a_client_takes_for_its_answer_does_not_count():
    before = http.REQUESTS.values().get(("/metrics", "GET", "200"), NOTHING)
    Observer().end({"REQUEST_METHOD": "GET", "PATH_INFO": "/metrics"}, 200, Times(5.0, ready=5.25), None)

    counts = zip(http.REQUESTS.values()["/metrics", "GET", "200"], before, strict=True)
    assert [now - then for now, then in counts][0] == 0.25


def test_no_long_path_is_kept_in_memory():
    observer = Observer()

    def ask() -> None:
        for number in range(300):
            assert observer.route(f"/{number:0>9000}") == "unknown"

    assert memory_kept_by(ask) < 1_000_000


def test_a_request_has_an_id_of_its_own_unless_its_client_gives_a_usable_one():
    observer = Observer()
    ids = [
        observer.begin({"HTTP_X_REQUEST_ID": given} if given else {})
        for given in (None, None, "trace:7f-1.a_B", "two\r\nlines", "x" * 65)
    ]

    assert ids[2] == "trace:7f-1.a_B"
    assert len(set(ids)) == 5
    assert all(name.isascii() and "\n" not in name and len(name) < 40 for name in ids)
