"""Answers to requests that the web server refuses before they have a turn: it is too busy, or a client is.

They are the same bytes for every path with the same view, so that refusing takes next to no time.
"""

from functools import lru_cache
from http import HTTPStatus
from typing import Any

from django.urls import get_resolver

from mirror.node.web.paths import is_of_api
from mirror.rest.answers.errors import Failure, TooManyRequests, Unavailable
from mirror.rest.answers.views import ReadView, UnknownRoute
from mirror.rest.routes import Routes

Headers = list[tuple[str, str]]

#: When a client may ask again that has met a node with too many requests, in seconds.
RETRY_AFTER_BUSY = 1
TOO_MANY_REQUESTS = "Requests per second rate limit exceeded"

_PLAIN = {
    HTTPStatus.SERVICE_UNAVAILABLE: b"The node is busy: try again in a moment.\n",
    HTTPStatus.TOO_MANY_REQUESTS: b"Too many requests: try again in a moment.\n",
}


def busy(path: str) -> tuple[int, Headers, bytes]:
    """Return status, headers and body for a request that finds too many others waiting."""
    status, headers, body = _refusal(path, HTTPStatus.SERVICE_UNAVAILABLE)
    return status, [*headers, ("retry-after", str(RETRY_AFTER_BUSY))], body


def too_many(path: str, seconds: int) -> tuple[int, Headers, bytes]:
    """Return status, headers and body for a client that has used up its limit for so many seconds."""
    status, headers, body = _refusal(path, HTTPStatus.TOO_MANY_REQUESTS)
    return status, [*headers, ("retry-after", str(seconds))], body


def _refusal(path: str, status: HTTPStatus) -> tuple[int, Headers, bytes]:
    if not is_of_api(path):
        return int(status), _completed("text/plain; charset=utf-8"), _PLAIN[status]
    content_type, body = _of_view(_view(path), status)
    return int(status), _completed(content_type), body


def _completed(content_type: str) -> Headers:
    # Another client, or the same one a moment later, gets another answer.
    return [
        ("content-type", content_type),
        ("access-control-allow-origin", "*"),
        ("cache-control", "no-store"),
    ]


def _view(path: str) -> type[ReadView]:
    return _routes().view(path) or UnknownRoute


@lru_cache
def _routes() -> Routes:
    (routes,) = (each for each in get_resolver().url_patterns if isinstance(each, Routes))
    return routes


@lru_cache
def _of_view(view: type[ReadView], status: HTTPStatus) -> tuple[str, bytes]:
    """Return the type and the bytes of an answer in the form of an endpoint's own errors."""
    failure: Failure = (
        Unavailable() if status is HTTPStatus.SERVICE_UNAVAILABLE else TooManyRequests(TOO_MANY_REQUESTS)
    )
    endpoint = view()
    endpoint.headers = {}
    response: Any = endpoint.finalize_response(None, endpoint.failed(failure))
    if hasattr(response, "render"):
        response.render()
    return response.headers["content-type"], response.content
