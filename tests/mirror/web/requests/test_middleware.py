"""What is counted and logged of requests, the ids by which they are named, and clients that are refused."""

import os
import resource
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.test import RequestFactory

from mirror.core import logs
from mirror.core.db.reading.sql import fetch
from mirror.core.logs import access as access_log
from mirror.core.rest import throttle
from mirror.core.rest.answers import errors
from mirror.core.rest.limits import client_limits
from mirror.web.requests.middleware import ONE_HOST, REQUEST_ID, ObserverMiddleware
from mirror.web.requests.slow_requests import SlowRequests
from tests.api import Api
from tests.counts import counted
from tests.logs import events
from tests.mirror.web.requests.observed import answering, request_of
from tests.waiting import PATIENCE_SECONDS
from tests.web3sim.serving import ServingNode, serving_node

__all__ = ["serving_node"]

BLOCKS = "/api/v1/blocks"


def _counted(route: str, method: str, status: int) -> float:
    return counted("mirror_http_request_seconds_count", route=route, method=method, status=str(status))


@pytest.mark.parametrize(
    ("path", "status", "route"),
    [
        ("/api/v1/accounts/0.0.1001", 200, "/api/v1/accounts/{idOrAliasOrEvmAddress}"),
        ("/API/v1/Accounts/0.0.1001/nfts/", 200, "/api/v1/accounts/{idOrAliasOrEvmAddress}/nfts"),
        ("/api/v1/nothing", 404, "unknown"),
        ("/admin/ledger/transaction/", 200, "/admin"),
        ("/health/readiness", 200, "/health"),
        ("/metrics", 200, "/metrics"),
        ("/", 200, "/"),
        ("/wp-login.php", 404, "unknown"),
        ("/api/v1/blocks", 400, "/api/v1/"),
        ("/api/v1/blocks/7", 404, "/api/v1/"),
        ("/api/v1/blocks", 429, "/api/v1/"),
        ("/api/v1/blocks", 503, "/api/v1/"),
        ("/api/v1/blocks", 500, "/api/v1/blocks"),
        ("/api/v1/blocks", 304, "/api/v1/blocks"),
    ],
)
def test_requests_are_counted_by_documented_path_and_refusals_without_it(path, status, route):
    before = _counted(route, "other", status)
    answering(status)(request_of(path, "PUT"))
    assert _counted(route, "other", status) == before + 1


def test_a_request_has_an_id_unless_its_client_gives_a_usable_one():
    observer = answering(200)
    ids = [
        observer(request_of("/", **({"x-request-id": given} if given else {}))).headers[REQUEST_ID]
        for given in (None, None, "trace:7f-1.a_B", "two\r\nlines", "x" * 65)
    ]
    assert ids[2] == "trace:7f-1.a_B"
    assert len(set(ids)) == 5
    assert all(name.isascii() and "\n" not in name and len(name) < 40 for name in ids)


@pytest.fixture
def access(monkeypatch: pytest.MonkeyPatch) -> list[tuple[Any, ...]]:
    """The values of the lines of the access log."""
    lines: list[tuple[Any, ...]] = []
    monkeypatch.setattr(access_log, "log", lambda: lambda *values: lines.append(values))
    return lines


@pytest.mark.usefixtures("ledger_tables")
def test_each_request_is_answered_with_its_id_and_has_a_line_in_the_access_log(access, caplog):
    def answer(request: HttpRequest) -> Any:
        if request.path == "/streamed":
            return StreamingHttpResponse([b"ab", b"cde"])
        fetch("select n from generate_series(1, 2) n")
        return HttpResponse((logs.REQUEST_ID.get() or "").encode())

    observer: Any = ObserverMiddleware(answer)
    assert observer(request_of(f"{BLOCKS}?limit=2", **{"x-request-id": "mine"})).content == b"mine"
    assert observer(request_of(BLOCKS)).content not in (b"mine", b"")
    assert b"".join(observer(request_of("/streamed"))) == b"abcde"
    assert [(path, status, rows, size) for _, path, status, _, rows, size, _, _ in access] == [
        (f"{BLOCKS}?limit=2", 200, 2, 4),
        (BLOCKS, 200, 2, access[1][5]),
        ("/streamed", 200, 0, 5),
    ]
    assert access[0][-1] == "mine"
    assert events(caplog) == []


@pytest.mark.parametrize(("slow_after", "is_slow"), [(1e-9, True), (900.0, False), (0.0, False)])
def test_a_request_is_slow_by_its_time(settings_of, monkeypatch, slow_after: float, is_slow: bool):
    settings_of({"logging.slowRequest": slow_after})
    told: list[dict[str, Any]] = []
    monkeypatch.setattr(SlowRequests, "enqueue", lambda *_, **keys: told.append(keys))
    answering(200)(request_of("/"))
    assert [(each["waited_ms"], each["bytes"]) for each in told] == [(0, 2)] * is_slow


# LIMITS OF CLIENTS


@pytest.fixture
def limited(settings_of: Callable[..., None], settings: Any, tmp_path: Path) -> Iterator[None]:
    settings_of({"rest.rateLimit.requestsPerSecond": 1, "rest.rateLimit.burst": 5})
    settings.DATA_DIR = tmp_path
    throttle.use(client_limits.configured())
    yield
    throttle.use(None)


@pytest.mark.usefixtures("limited")
@pytest.mark.parametrize(
    ("path", "messages"),
    [
        (BLOCKS, [{"message": errors.TOO_MANY_REQUESTS}]),
        ("/API/V1/Blocks", [{"message": errors.TOO_MANY_REQUESTS}]),
        ("/api/v1/unknown", [{"message": errors.TOO_MANY_REQUESTS}]),
        ("/api/v1/accounts/5/hooks", [{"detail": errors.TOO_MANY_REQUESTS, "message": "Too Many Requests"}]),
    ],
)
def test_answers_to_a_limited_client_have_its_limit_and_one_too_many_is_refused(db, path, messages):
    # Also where the cache has the answer.
    api = Api(cached=True, budgeted=False)
    # A client that sends one request a second is never refused: however busy the machine is, this is faster.
    answers = [api.get(path)]
    while answers[-1].status != 429:
        answers.append(api.get(path))
    refused = answers[-1]
    assert (refused.json()["_status"]["messages"], refused.headers["retry-after"]) == (messages, "1")
    assert {each.headers["ratelimit-policy"] for each in answers} == {'"client";q=5;w=5'}
    assert answers[0].headers["ratelimit"] == '"client";r=4;t=1'


@pytest.mark.usefixtures("limited")
def test_an_answer_from_the_cache_says_nothing_of_the_limit_of_another_client(db, settings_of):
    api = Api(cached=True, budgeted=False)
    url = f"{BLOCKS}?limit=7&order=asc"
    assert "ratelimit" in api.get(url).headers
    settings_of({"rest.rateLimit.exempt": ("127.0.0.0/8",)})
    assert not [name for name in api.get(url).headers if name.startswith("ratelimit")]


def test_without_a_limit_answers_say_nothing_of_one(api):
    assert not [name for name in api.get(BLOCKS).headers if name.startswith("ratelimit")]


# A FULL TABLE OF FILES


@contextmanager
def _without_descriptors() -> Iterator[None]:
    """Have no file opened, nor a connection to the database."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    lowest_free = os.open(os.devnull, os.O_RDONLY)
    os.close(lowest_free)
    resource.setrlimit(resource.RLIMIT_NOFILE, (lowest_free, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_a_view_that_finds_no_descriptor_is_unavailable():
    with _without_descriptors(), pytest.raises(OSError, match="Too many open files") as caught:
        os.open(os.devnull, os.O_RDONLY)
    failure = errors.to_failure(caught.value, RequestFactory().get(BLOCKS))
    assert (failure.status, failure.retry_after) == (503, 2)


# HOSTS


def _answer(node: ServingNode, request: str, *headers: str) -> tuple[bytes, bytes]:
    """Send a request as it stands, and return the head of the answer in lower case, and its body."""
    with socket.create_connection(("127.0.0.1", node.port), PATIENCE_SECONDS) as client:
        client.sendall("\r\n".join([request, *headers, "Connection: close", "", ""]).encode())
        head, _, body = b"".join(iter(lambda: client.recv(65536), b"")).partition(b"\r\n\r\n")
    return head.lower(), body


def test_a_request_has_one_host(serving_node):
    serving_node.start()
    get = f"GET {BLOCKS} HTTP/1.1"
    for hosts in (["Host: a", "Host: b"], ["Host: a", "Host: a"]):
        head, body = _answer(serving_node, get, *hosts)
        assert head.startswith(b"http/1.1 400")
        assert orjson.loads(body) == {"_status": {"messages": [{"message": ONE_HOST}]}}
    assert _answer(serving_node, get, "Host: a")[0].startswith(b"http/1.1 200")
    assert _answer(serving_node, f"GET {BLOCKS} HTTP/1.0")[0].startswith(b"http/1.0 200")
    head, _ = _answer(serving_node, f"GET /docs/{'x' * 255} HTTP/1.1", "Host: a")
    assert head.startswith(b"http/1.1 404")

    # What granian decides before the node sees the request, or after its answer: see differences.md.
    for character in '<>"':
        head, body = _answer(serving_node, f"GET {BLOCKS}?limit={character} HTTP/1.1", "Host: a")
        assert (head[:12], body) == (b"http/1.1 400", b"")
    lengths = ("Content-Length: 3", "Transfer-Encoding: chunked", "Host: a")
    # The last line becomes a trailer, so it is the server that closes the connection.
    head, _ = _answer(serving_node, get, *lengths, "", "0")
    assert (head[:12], b"\r\nconnection: close" in head) == (b"http/1.1 200", True)
    head, _ = _answer(serving_node, f"OPTIONS {BLOCKS} HTTP/1.1", "Host: a")
    assert head.startswith(b"http/1.1 204")
    assert b"content-length" not in head
    _, body = _answer(serving_node, "GET /api/v1/accounts/1001%2Ftokens HTTP/1.1", "Host: a")
    assert orjson.loads(body) == {"tokens": [], "links": {"next": None}}
