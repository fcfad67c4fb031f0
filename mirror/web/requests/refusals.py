"""Answers to requests that the web server refuses before they have a lease: it is too busy, or a client is.

They are the same bytes for every path with the same view, so that refusing takes next to no time.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from mirror.core.rest.answers.errors import BadRequest, Failure, TooManyRequests, Unavailable
from mirror.core.rest.answers.views import ReadView, UnknownRoute
from mirror.web.requests.paths import api_routes, is_of_api

Headers = list[tuple[str, str]]
#: Status, headers and body.
Answer = tuple[int, Headers, bytes]

#: When a client may ask again that has met a node with too many requests, in seconds.
RETRY_AFTER_BUSY = 1
BUSY = "The node is busy: try again in a moment"
TOO_MANY_REQUESTS = "Requests per second rate limit exceeded"
OVERDUE = "The request takes too long: try again later"
ONE_HOST = "A request has one Host header"


def host_problem(environment: dict[str, Any]) -> Answer | None:
    """Return the answer to a request with several hosts, or none where HTTP needs one."""
    host = environment.get("HTTP_HOST", "")
    # Granian joins several headers of one name by commas, which no host has.
    if "," in host or (not host and environment.get("SERVER_PROTOCOL") == "HTTP/1.1"):
        return _error(environment["PATH_INFO"], BadRequest, ONE_HOST)
    return None


def busy(path: str) -> Answer:
    """Return the answer to a request that finds too many others waiting."""
    return _error(path, Unavailable, BUSY, RETRY_AFTER_BUSY)


def too_many(path: str, seconds: int) -> Answer:
    """Return the answer to a client that has used up its limit for so many seconds."""
    return _error(path, TooManyRequests, TOO_MANY_REQUESTS, seconds)


def overdue(path: str) -> Answer:
    """Return the answer to a request that was not answered by its deadline."""
    return _error(path, Unavailable, OVERDUE, RETRY_AFTER_BUSY)


def _error(path: str, make: Callable[[str], Failure], reason: str, retry_seconds: int = 0) -> Answer:
    if is_of_api(path):
        content_type, body = _view_response(api_routes().view(path) or UnknownRoute, make, reason)
    else:
        content_type, body = "text/plain; charset=utf-8", f"{reason}.\n".encode()
    # Another client, or the same one later, gets another answer.
    headers = [
        ("content-type", content_type),
        ("access-control-allow-origin", "*"),
        ("cache-control", "no-store"),
    ]
    if retry_seconds:
        headers.append(("retry-after", str(retry_seconds)))
    return int(make(reason).status), headers, body


@lru_cache
def _view_response(view: type[ReadView], make: Callable[[str], Failure], reason: str) -> tuple[str, bytes]:
    """Return the type and the bytes of an answer in the form of an endpoint's own errors."""
    endpoint = view()
    endpoint.headers = {}
    response: Any = endpoint.finalize_response(None, endpoint.failed(make(reason)))
    if hasattr(response, "render"):
        response.render()
    return response.headers["content-type"], response.content
