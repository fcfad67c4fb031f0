"""The WSGI application, which sends none of Django's signals around a request to the API."""

import json
from collections.abc import Iterator
from io import BytesIO
from typing import Any

import pytest
from django.core import signals
from django.db import DEFAULT_DB_ALIAS, connection, connections
from django.test import Client

from mirror.db.turns import Turns

pytestmark = pytest.mark.django_db(transaction=True)


def ask(path: str) -> tuple[str, dict[str, str], Any]:
    """Return status, headers and body of a GET."""
    from mirror.wsgi import application

    started: list[Any] = []
    environ = {
        "REQUEST_METHOD": "GET",
        "PATH_INFO": path,
        "QUERY_STRING": "",
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


def test_a_connection_that_broke_is_gone_after_the_turn_that_broke_it() -> None:
    own = connections[DEFAULT_DB_ALIAS]
    turns = Turns(1)
    with turns.taken():
        connection.ensure_connection()
        broken = connection.connection
        broken.close()
        connection.errors_occurred = True
    with turns.taken():
        connection.ensure_connection()
        assert connection.connection is not broken
        assert connection.is_usable()
    # Turns keep their connections; this one is that of all tests.
    connections[DEFAULT_DB_ALIAS] = own
