"""Answers to requests that the web server refuses before they have a lease: it is too busy, or a client is.

They are the same bytes for every path with the same view, so that refusing takes next to no time.
"""

from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import Any

from django.urls import get_resolver

from mirror.core.rest.answers.errors import BadRequest, Failure, TooManyRequests, Unavailable
from mirror.core.rest.answers.views import ReadView, UnknownRoute
from mirror.core.rest.routes import Routes
from mirror.web.requests.paths import is_of_api

Headers = list[tuple[str, str]]

#: When a client may ask again that has met a node with too many requests, in seconds.
RETRY_AFTER_BUSY = 1
BUSY = "The node is busy: try again in a moment"
TOO_MANY_REQUESTS = "Requests per second rate limit exceeded"
OVERDUE = "The request takes too long: try again later"
ONE_HOST = "A request has one Host header"

_FAILURES: dict[HTTPStatus, Callable[[str], Failure]] = {
    HTTPStatus.BAD_REQUEST: BadRequest,
    HTTPStatus.SERVICE_UNAVAILABLE: Unavailable,
    HTTPStatus.TOO_MANY_REQUESTS: TooManyRequests,
}


def host_problem(environment: dict[str, Any]) -> tuple[int, Headers, bytes] | None:
    """Return status, headers and body for a request with several hosts, or none where HTTP needs one."""
    host = environment.get("HTTP_HOST", "")
    # Granian joins several headers of one name by commas, which no host has.
    if "," in host or (not host and environment.get("SERVER_PROTOCOL") == "HTTP/1.1"):
        return _refusal(environment["PATH_INFO"], HTTPStatus.BAD_REQUEST, ONE_HOST)
    return None


def busy(path: str) -> tuple[int, Headers, bytes]:
    """Return status, headers and body for a request that finds too many others waiting."""
    status, headers, body = _refusal(path, HTTPStatus.SERVICE_UNAVAILABLE, BUSY)
    return status, [*headers, ("retry-after", str(RETRY_AFTER_BUSY))], body


def too_many(path: str, seconds: int) -> tuple[int, Headers, bytes]:
    """Return status, headers and body for a client that has used up its limit for so many seconds."""
    status, headers, body = _refusal(path, HTTPStatus.TOO_MANY_REQUESTS, TOO_MANY_REQUESTS)
    return status, [*headers, ("retry-after", str(seconds))], body


def overdue(path: str) -> tuple[int, Headers, bytes]:
    """Return status, headers and body for a request that was not answered by its deadline."""
    status, headers, body = _refusal(path, HTTPStatus.SERVICE_UNAVAILABLE, OVERDUE)
    return status, [*headers, ("retry-after", str(RETRY_AFTER_BUSY))], body


def _refusal(path: str, status: HTTPStatus, reason: str) -> tuple[int, Headers, bytes]:
    if not is_of_api(path):
        return int(status), _completed("text/plain; charset=utf-8"), f"{reason}.\n".encode()
    content_type, body = _of_view(_view(path), status, reason)
    return int(status), _completed(content_type), body


def _completed(content_type: str) -> Headers:
    # Another client, or the same one later, gets another answer.
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
def _of_view(view: type[ReadView], status: HTTPStatus, reason: str) -> tuple[str, bytes]:
    """Return the type and the bytes of an answer in the form of an endpoint's own errors."""
    endpoint = view()
    endpoint.headers = {}
    response: Any = endpoint.finalize_response(None, endpoint.failed(_FAILURES[status](reason)))
    if hasattr(response, "render"):
        response.render()
    return response.headers["content-type"], response.content
