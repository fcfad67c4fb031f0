"""The WSGI application, which sends none of Django's signals around a request to the API."""

import gc
import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from django.core import signals
from django.core.cache import caches
from django.core.wsgi import get_wsgi_application
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.test import Client
from mirror.core.db.scheduling.request_scheduler import RequestScheduler

pytestmark = pytest.mark.django_db(transaction=True)


def ask(
    path: str, method: str = "GET", query: str = "", application: Any = None
) -> tuple[str, dict[str, str], Any]:
    """Return status, headers and body."""
    if application is None:
        from mirror.wsgi import application

    started: list[Any] = []
    environ = {
        "REQUEST_METHOD": method,
        "PATH_INFO": path,
        "QUERY_STRING": query,
        "SERVER_NAME": "127.0.0.1",
        "SERVER_PORT": "8000",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "REMOTE_ADDR": "127.0.0.1",
        "wsgi.input": BytesIO(),
        "wsgi.url_scheme": "http",
    }
    body = b"".join(application(environ, lambda status, headers: started.append((status, dict(headers)))))
    ((status, headers),) = started
    return status, {name.lower(): text for name, text in headers.items()}, body


@pytest.fixture(autouse=True)
def _nothing_kept() -> None:
    """Answers of other tests may still be in the cache."""
    caches["responses"].clear()


@pytest.fixture
def sent() -> Iterator[list[str]]:
    """The paths of the requests around which Django's signals were sent."""
    paths: list[str] = []

    def note(environ: dict[str, Any], **_: Any) -> None:
        paths.append(environ["PATH_INFO"])

    signals.request_started.connect(note)
    yield paths
    signals.request_started.disconnect(note)


def test_a_request_to_the_api_is_answered_without_signals(sent: list[str]) -> None:
    status, headers, body = ask("/api/v1/blocks")
    assert sent == []

    assert (status, body) == ("200 OK", Client().get("/api/v1/blocks").content)
    assert headers["content-type"] == "application/json; charset=utf-8"
    assert headers["content-length"] == str(len(body))


def test_other_requests_are_answered_by_django_as_ever(sent: list[str]) -> None:
    assert ask("/health/liveness")[0] == "200 OK"
    assert sent == ["/health/liveness"]


def test_an_error_of_the_api_is_answered_in_its_form() -> None:
    status, _, body = ask("/api/v1/blocks/x")

    assert status == "400 Bad Request"
    assert json.loads(body)["_status"]["messages"] == [{"message": "Invalid parameter: hashOrNumber"}]


REQUESTS = [
    ("GET", "/api/v1/blocks", "limit=1"),
    ("HEAD", "/api/v1/blocks", ""),
    ("GET", "/API/v1/Blocks/", ""),
    ("GET", "/api/v1/blocks", "limit=x&nothing=1"),
    ("POST", "/api/v1/blocks", ""),
    ("GET", "/api/v1/blocks/1", ""),
    ("GET", "/api/v1/accounts/0.0.98/hooks", ""),
    ("PUT", "/api/v1/accounts/0.0.98/hooks", ""),
    ("GET", "/api/v1/network/supply", "q=totalcoins"),
    ("GET", "/api/v1/nothing", ""),
    ("GET", "/api/v1/accounts/0.0.98/hooks/x/y", ""),
    ("GET", "/api/v1/tokens/\u00e2\u0080\u00a6", ""),
    ("GET", "/api/", ""),
    ("OPTIONS", "/api/v1/blocks", ""),
    ("GET", "/api/v1/docs/openapi.yaml", ""),
    ("POST", "/api/v1/contracts/call", ""),
]


@pytest.mark.parametrize(("method", "path", "query"), REQUESTS)
def test_every_answer_is_as_through_all_of_django(method: str, path: str, query: str) -> None:
    whole = get_wsgi_application()

    assert ask(path, method, query) == ask(path, method, query, whole)


@pytest.mark.parametrize(("method", "path", "query"), REQUESTS)
def test_a_request_leaves_nothing_for_the_garbage_collector(method: str, path: str, query: str) -> None:
    # It would find them only after thousands of requests, and then stop all of them for long.
    for _ in range(2):
        ask(path, method, query)
    # What is there already is not looked at: that takes a second.
    gc.freeze()
    gc.set_debug(gc.DEBUG_SAVEALL)
    try:
        ask(path, method, query)
        gc.collect()
        left = [type(each).__name__ for each in gc.garbage]
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.unfreeze()

    assert left == []


def test_a_connection_that_broke_is_gone_after_the_turn_that_broke_it() -> None:
    own = connections[DEFAULT_DB_ALIAS]
    turns = RequestScheduler(1)
    with turns.leased():
        connection.ensure_connection()
        broken = connection.connection
        broken.close()
        connection.errors_occurred = True
    with turns.leased():
        connection.ensure_connection()
        assert connection.connection is not broken
        assert connection.is_usable()
    # Turns keep their connections; this one is that of all tests.
    connections[DEFAULT_DB_ALIAS] = own
