"""Requests that the web server refuses get an error in the form of their endpoint."""

import os
import resource
import socket
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from queue import SimpleQueue
from typing import Any

import orjson
import pytest
from django.db import connection
from django.template import engines
from django.template.backends.django import DjangoTemplates
from django.test import RequestFactory
from mirror.core.db.scheduling.request_scheduler import ClientDisconnected
from mirror.web.requests.gateway import Gateway

from mirror import wsgi
from mirror.core.db.reading.sql import fetch_one
from mirror.core.metrics import http
from mirror.core.rest.answers import errors
from mirror.web.requests import rate_limits, refusals
from tests.memory import memory_kept_by
from tests.mirror.web.environment import Protocol
from tests.mirror.web.environment import environment as of_request
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.web3sim.serving import ServingNode, serving_node

__all__ = ["serving_node"]

BLOCKS = "/api/v1/blocks"
CLASSIC = {"message": "Requests per second rate limit exceeded"}
NEWER = {"detail": "Requests per second rate limit exceeded", "message": "Too Many Requests"}
SIMULATION = {
    "message": "Too Many Requests",
    "detail": "Requests per second rate limit exceeded",
    "data": "",
}


@pytest.mark.parametrize(
    ("path", "too_many", "busy"),
    [
        (BLOCKS, CLASSIC, {"message": "Service unavailable", "detail": refusals.BUSY}),
        ("/api/v1/unknown", CLASSIC, {"message": "Service unavailable", "detail": refusals.BUSY}),
        ("/API/V1/Blocks", CLASSIC, {"message": "Service unavailable", "detail": refusals.BUSY}),
        ("/api/v1/network/stake/", CLASSIC, {"message": "Service unavailable", "detail": refusals.BUSY}),
        ("/api/v1/accounts/5/hooks", NEWER, {"detail": refusals.BUSY, "message": "Service Unavailable"}),
        (
            "/api/v1/contracts/call",
            SIMULATION,
            {"message": "Service Unavailable", "detail": refusals.BUSY, "data": ""},
        ),
    ],
)
def test_a_refusal_has_the_form_of_the_errors_of_its_endpoint(path, too_many, busy):
    answers = refusals.too_many(path, 7), refusals.busy(path)

    assert [status for status, _, _ in answers] == [429, 503]
    assert [orjson.loads(body)["_status"]["messages"] for _, _, body in answers] == [[too_many], [busy]]
    for (_, headers, _), seconds in zip(answers, ("7", "1"), strict=True):
        assert dict(headers)["content-type"].startswith("application/json")
        assert dict(headers)["retry-after"] == seconds
        assert dict(headers)["cache-control"] == "no-store"
        assert dict(headers)["access-control-allow-origin"] == "*"


def test_pages_for_people_are_refused_in_plain_words():
    _, headers, body = refusals.busy("/admin/")

    assert (dict(headers)["content-type"], body) == (
        "text/plain; charset=utf-8",
        b"The node is busy: try again in a moment.\n",
    )


def test_no_path_that_was_refused_is_kept_in_memory():
    def refuse() -> None:
        for number in range(300):
            refusals.busy(f"/api/v1/blocks/{number:0>9000}")

    refusals.busy("/api/v1/blocks/1")
    assert memory_kept_by(refuse) < 1_000_000


class _Held:
    """An application whose answers a test holds back."""

    def __init__(self) -> None:
        self.going = threading.Event()

    def __call__(self, environment: dict[str, Any], start: Any) -> Iterable[bytes]:
        assert self.going.wait(PATIENCE_SECONDS)
        start("200 OK", [])
        return [b"[]"]


def _ask(gateway: Gateway, path: str = BLOCKS, method: str = "GET") -> Protocol:
    protocol = Protocol()
    gateway(protocol, of_request(path, method=method))
    return protocol


def test_when_too_many_requests_wait_further_ones_are_refused_at_once_until_these_are_answered(settings_of):
    settings_of({"web.threads": 1, "web.maxWaiting": 2})
    held = _Held()
    gateway = Gateway(held, [])
    answered = [_ask(gateway) for _ in range(3)]
    refused = [_ask(gateway), _ask(gateway, "/api/v1/contracts/call", "POST"), _ask(gateway, "/admin/")]
    health = _ask(gateway, "/health/liveness")

    assert [each.has_answer for each in (*answered, health)] == [False] * 4
    for each in refused:
        status, headers, _ = each.answer()
        assert (status, headers["retry-after"]) == (503, "1")
        assert headers["x-request-id"]
    held.going.set()
    assert [each.answer()[0] for each in (*answered, health)] == [200] * 4
    assert _ask(gateway).answer()[0] == 200


def test_when_too_many_ask_how_the_node_is_further_ones_are_refused_until_these_are_answered():
    held = _Held()
    gateway = Gateway(held, [])
    paths = ("/health/readiness", "/health/lag", "/metrics")
    answered = [_ask(gateway, paths[number % 3]) for number in range(100)]
    refused = _ask(gateway, "/metrics")

    assert not any(each.has_answer for each in answered)
    status, headers, _ = refused.answer()
    assert (status, headers["retry-after"]) == (503, "1")
    held.going.set()
    assert {each.answer()[0] for each in answered} == {200}


def test_whether_the_node_is_alive_is_answered_while_whether_it_is_ready_has_to_wait():
    held = _Held()

    def application(environment: dict[str, Any], start: Any) -> Iterable[bytes]:
        if environment["PATH_INFO"] != "/health/liveness":
            return held(environment, start)
        start("200 OK", [])
        return [b"{}"]

    gateway = Gateway(application, [])
    waiting = [_ask(gateway, "/health/readiness") for _ in range(10)]

    assert _ask(gateway, "/health/liveness").answer()[0] == 200
    assert not any(each.has_answer for each in waiting)
    held.going.set()
    assert {each.answer()[0] for each in waiting} == {200}


@pytest.mark.parametrize("path", ["/health/wealth", "/health/", "/admin/all"])
def test_a_path_that_only_looks_like_one_about_the_node_waits_for_its_turn(settings_of, path):
    settings_of({"web.threads": 1, "web.maxWaiting": 0})
    held = _Held()
    gateway = Gateway(held, [])

    assert _ask(gateway, path).answer()[0] == 503


def test_what_needs_no_database_is_answered_while_all_turns_hang(settings_of):
    settings_of({"web.threads": 1})
    held = _Held()

    def application(environment: dict[str, Any], start: Any) -> Iterable[bytes]:
        if environment["REQUEST_METHOD"] == "GET" and environment["PATH_INFO"] == BLOCKS:
            return held(environment, start)
        start("204 No Content", [])
        return []

    gateway = Gateway(application, [])
    hanging = _ask(gateway)

    assert _ask(gateway, BLOCKS, "OPTIONS").answer()[0] == 204
    assert _ask(gateway, "/api/v1/nonsense").answer()[0] == 204
    assert not hanging.has_answer
    held.going.set()


def _counted() -> int:
    """Return how many requests of the API were answered 503."""
    return int(sum(http.REQUESTS.values().get(("/api/v1/", "GET", "503"), [0.0])[1:]))


def test_an_overdue_request_is_counted_once_and_teaches_nothing(settings_of):
    settings_of({"web.threads": 1, "web.slowAfter": 0.01})
    held = _Held()
    gateway = Gateway(held, [])
    before = _counted()
    protocol = _ask(gateway)
    (overdue,) = gateway.open

    assert overdue.end_overdue()
    assert protocol.answer()[0] == 503
    assert _counted() == before + 1
    held.going.set()
    # The turn is free once the late end is over.
    assert _ask(gateway).answer()[0] == 200
    assert _counted() == before + 1
    assert not gateway._expected._seconds


def test_the_work_for_an_overdue_request_is_ended(settings_of, ledger_tables):
    settings_of({"web.threads": 1})
    ended: SimpleQueue[BaseException | None] = SimpleQueue()

    def application(environment: dict[str, Any], start: Any) -> Iterable[bytes]:
        start("200 OK", [])
        if environment["PATH_INFO"] == BLOCKS:
            try:
                fetch_one("select pg_sleep(60)")
                ended.put(None)
            except Exception as error:
                ended.put(error)
                raise
        return [b""]

    gateway = Gateway(application, [])
    protocol = _ask(gateway)
    (overdue,) = gateway.open
    ((lease, _),) = wait_until(lambda: gateway.scheduler.leases_in_use_for(0.0))
    wait_until(lambda: lease.is_reading)
    assert overdue.end_overdue()

    assert protocol.answer()[0] == 503
    error = ended.get(timeout=PATIENCE_SECONDS)
    assert isinstance(error, ClientDisconnected)
    # Its lease, with another connection, is for others.
    assert _ask(gateway, "/api/v1/network/nodes").answer()[0] == 200
    closed = threading.Event()

    def close() -> None:
        # A server that sleeps does not notice that the connection is shut.
        fetch_one(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity "
            "where query like 'select pg_sleep%%' and datname = current_database()"
        )
        connection.close()
        closed.set()

    gateway.scheduler.submit(close)
    assert closed.wait(PATIENCE_SECONDS)


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


@pytest.mark.parametrize("path", [BLOCKS, "/", "/admin/login/"])
def test_a_request_that_finds_no_descriptor_is_asked_to_come_again(path, ledger_tables):
    gateway = Gateway(wsgi.application, [])
    # Templates that an earlier test has loaded need no descriptor.
    templates = engines["django"]
    assert isinstance(templates, DjangoTemplates)
    for loader in templates.engine.template_loaders:
        loader.reset()
    with _without_descriptors():
        status, headers, _ = _ask(gateway, path).answer()
    assert (status, "retry-after" in headers) == (503, True)


def test_a_view_that_finds_no_descriptor_is_unavailable():
    with _without_descriptors(), pytest.raises(OSError, match="Too many open files") as caught:
        os.open(os.devnull, os.O_RDONLY)
    failure = errors.to_failure(caught.value, RequestFactory().get(BLOCKS))
    assert (failure.status, failure.retry_after) == (503, 2)


def test_an_application_that_finds_no_descriptor_is_busy():
    def application(environment: dict[str, Any], start: Any) -> Iterable[bytes]:
        os.open(os.devnull, os.O_RDONLY)
        return []

    gateway = Gateway(application, [])
    with _without_descriptors():
        status, headers, body = _ask(gateway).answer()
    assert (status, headers["retry-after"], refusals.BUSY.encode() in body) == (503, "1", True)


def test_an_answer_that_fails_has_the_id_of_its_request():
    def application(environment: dict[str, Any], start: Any) -> Iterable[bytes]:
        raise ZeroDivisionError

    status, headers, _ = _ask(Gateway(application, [])).answer()

    assert status == 500
    assert headers["x-request-id"]


def test_each_answer_to_a_limited_client_has_its_limit_and_one_too_many_is_refused(settings_of):
    settings_of({"rest.rateLimit.requestsPerSecond": 1, "rest.rateLimit.burst": 5})
    held = _Held()
    held.going.set()
    gateway = Gateway(held, [], rate_limits.create_memory())
    # A client that asks once a second is never refused: however busy the machine is, this is faster.
    answers = [_ask(gateway).answer()]
    while answers[-1][0] == 200:
        answers.append(_ask(gateway).answer())

    status, headers, _ = answers[-1]
    assert (status, headers["retry-after"]) == (429, "1")
    assert {headers["ratelimit-policy"] for _, headers, _ in answers} == {'"client";q=5;w=5'}
    assert answers[0][1]["ratelimit"] == '"client";r=4;t=1'


def test_without_a_limit_answers_have_no_word_of_one(settings_of):
    held = _Held()
    held.going.set()

    _, headers, _ = _ask(Gateway(held, [])).answer()

    assert set(headers) == {"x-request-id"}


def _answer(node: ServingNode, request: str, *headers: str) -> tuple[bytes, bytes]:
    """Send a request as it stands, and return the head of the answer in lower case, and its body."""
    with socket.create_connection(("127.0.0.1", node.port), PATIENCE_SECONDS) as client:
        client.sendall("\r\n".join([request, *headers, "Connection: close", "", ""]).encode())
        head, _, body = b"".join(iter(lambda: client.recv(65536), b"")).partition(b"\r\n\r\n")
    return head.lower(), body


def test_a_request_has_one_host(serving_node):
    serving_node.start()
    get = f"GET {BLOCKS} HTTP/1.1"
    for hosts in ([], ["Host: a", "Host: b"], ["Host: a", "Host: a"]):
        head, body = _answer(serving_node, get, *hosts)
        assert head.startswith(b"http/1.1 400")
        assert orjson.loads(body) == {"_status": {"messages": [{"message": refusals.ONE_HOST}]}}
    assert _answer(serving_node, "GET /docs/ HTTP/1.1")[0].startswith(b"http/1.1 400")
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
