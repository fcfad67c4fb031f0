"""A client of the API that calls it as the web server does: raw path and query in, status and bytes out."""

import io
import json
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import unquote, unquote_to_bytes

from django.core.handlers.wsgi import WSGIHandler
from django.core.signals import request_finished, request_started
from django.db import close_old_connections, connection, reset_queries
from django.test.utils import CaptureQueriesContext
from django.urls import Resolver404, resolve

from mirror.core import config
from mirror.web.requests.middleware import REQUEST_ID
from tests.contract import budgets, description


@dataclass(frozen=True)
class Answer:
    status: int
    headers: dict[str, str] = field(repr=False)
    body: bytes
    statements: list[str] = field(repr=False)

    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def messages(self) -> list[str]:
        """The messages of an error answer."""
        return [problem["message"] for problem in self.json()["_status"]["messages"]]


@contextmanager
def _one_connection() -> Iterator[None]:
    """Between requests the server drops connections inside a transaction, and each test is one."""
    for signal in (request_started, request_finished):
        signal.disconnect(close_old_connections)
    try:
        yield
    finally:
        for signal in (request_started, request_finished):
            signal.connect(close_old_connections)


def assert_answer(answer: Answer, expected: Any) -> None:
    """The answer is a success with exactly this JSON, members in this order."""
    assert answer.status == 200, answer
    assert answer.json() == expected
    assert json.dumps(answer.json()) == json.dumps(expected)


def route_of(path: str) -> str | None:
    """The documented path of the endpoint that serves a path; None for other paths."""
    try:
        found = resolve(unquote(path))
    except Resolver404:
        return None
    return found.url_name


class Api:
    """`cached`: whether the response cache is on.

    `budgeted`: whether requests keep to their budget of statements; tables partitioned by month take more.
    """

    def __init__(self, cached: bool = False, budgeted: bool = True) -> None:
        self.cached, self.budgeted = cached, budgeted

    @cached_property
    def application(self) -> Any:
        return WSGIHandler()

    def get(self, url: str, **headers: str) -> Answer:
        """`headers` with underscores: `if_none_match="*"`."""
        return self.request("GET", url, b"", content_type="", **headers)

    def request(
        self, method: str, url: str, body: bytes = b"", *, content_type: str = "", **headers: str
    ) -> Answer:
        path, _, query = url.partition("?")
        environ = {
            "REMOTE_ADDR": "127.0.0.1",
            "REQUEST_METHOD": method,
            "PATH_INFO": unquote_to_bytes(path.encode()).decode("latin-1"),
            "QUERY_STRING": query.encode().decode("latin-1"),
            "SCRIPT_NAME": "",
            "SERVER_NAME": "testserver",
            "SERVER_PORT": "80",
            "SERVER_PROTOCOL": "HTTP/1.1",
            "HTTP_HOST": "testserver",
            "wsgi.url_scheme": "http",
            "CONTENT_TYPE": content_type,
            "CONTENT_LENGTH": str(len(body)),
            "wsgi.input": io.BytesIO(body),
            "wsgi.errors": io.StringIO(),
        } | {f"HTTP_{name.upper()}": text for name, text in headers.items()}
        began: list[Any] = []
        # A full log takes no more statements, and there would be none to count.
        reset_queries()
        cached = config.overridden({"rest.cache.response.enabled": self.cached})
        with closing(cached), _one_connection(), CaptureQueriesContext(connection) as statements:
            response = self.application(environ, lambda status, sent: began.extend((status, sent)))
            received = b"".join(response)
            response.close()
        status, sent = began
        answer = Answer(
            int(status.split()[0]),
            {name.lower(): text for name, text in sent if name != REQUEST_ID},
            received,
            [statement["sql"] for statement in statements],
        )
        if route := route_of(path):
            if self.budgeted:
                budgets.check(route, url, answer.statements)
            description.check(route, method, url, answer)
        return answer

    def pages(self, url: str, name: str) -> list[Any]:
        """The rows of a list, all pages of it."""
        rows: list[Any] = []
        while url:
            answer = self.get(url)
            assert answer.status == 200, answer
            rows += answer.json()[name]
            url = answer.json()["links"]["next"]
        return rows
