"""The errors of the API, and the JSON that reports them.

Classic endpoints answer `{"_status":{"messages":[{"message": text}, ...]}}`, one entry per problem, with
`detail` where an error carries one. Spring endpoints answer the same envelope with entries
`{"detail":text,"message": <HTTP reason phrase>}`, where the detail of a 404 is another entry, but
`{"message":text}` for an InvalidParameter. Raise early, and name the parameter. No detail of an unexpected
failure reaches the client.
"""

import errno
import sys
from collections.abc import Iterable
from http import HTTPStatus
from typing import Any, NamedTuple

import psycopg
from django.db import Error as DatabaseError
from django.http import Http404, HttpRequest, HttpResponse
from rest_framework.exceptions import (
    AuthenticationFailed,
    MethodNotAllowed,
    NotAuthenticated,
    PermissionDenied,
    Throttled,
)
from rest_framework.response import Response

from mirror.core import logs
from mirror.core.db.availability import outage
from mirror.core.db.reading.pools import Busy, TooManySlowRequests
from mirror.core.rest.answers.response import render

log = logs.logger("mirror.rest")

NOT_FOUND = "Not found"
TOO_MANY_REQUESTS = "Requests per second rate limit exceeded"
BUSY = "The node is busy: try again in a moment"
_TAKES_TOO_LONG = (psycopg.errors.QueryCanceled, psycopg.errors.LockNotAvailable, TooManySlowRequests)


class Problem(NamedTuple):
    """One entry of an error answer."""

    message: str
    detail: str | None = None


class Failure(Exception):
    """The end of a request, with this status and these problems."""

    status = HTTPStatus.BAD_REQUEST
    #: When a client may send the request again, in seconds.
    retry_after = 0

    def __init__(self, *problems: Problem | str) -> None:
        self.problems = [Problem(problem) if isinstance(problem, str) else problem for problem in problems]
        super().__init__(", ".join(problem.message for problem in self.problems))


class BadRequest(Failure):
    """400 with a text of its own."""


class InvalidParameter(BadRequest):
    """400 `Invalid parameter: <name>`, for each of some parameters or parts of the path, of any endpoint."""

    def __init__(self, *names: str, detail: str | None = None) -> None:
        super().__init__(*(Problem(f"Invalid parameter: {name}", detail) for name in names))


class InvalidEntityId(BadRequest):
    """400 for an id of the right form with a part out of range."""

    def __init__(self, text: str) -> None:
        super().__init__(f'Invalid entity ID "{text}"')


class Unauthorized(Failure):
    """401 for credentials that are no user's."""

    status = HTTPStatus.UNAUTHORIZED

    def __init__(self) -> None:
        super().__init__("Invalid credentials")


class Forbidden(Failure):
    """403 for a client whom a permission of the view refuses."""

    status = HTTPStatus.FORBIDDEN


class NotFound(Failure):
    """404 for something that does not exist; `detail` may say why the node does not have what exists."""

    status = HTTPStatus.NOT_FOUND

    def __init__(self, message: str = NOT_FOUND, *, detail: str | None = None) -> None:
        super().__init__(Problem(message, detail))


class TooManyRequests(Failure):
    """429 for a request that a limit or a filter refuses."""

    status = HTTPStatus.TOO_MANY_REQUESTS

    def __init__(self, *problems: Problem | str, retry_after: int = 0) -> None:
        super().__init__(*problems)
        self.retry_after = retry_after


class Unavailable(Failure):
    """503 for a node that can't answer at present; `detail` says why."""

    status = HTTPStatus.SERVICE_UNAVAILABLE
    retry_after = 2

    def __init__(self, detail: str | None = None) -> None:
        super().__init__(Problem("Service unavailable", detail))


class TimeBudgetExceeded(Failure):
    """503 for a request that can't be answered within its time budget, and can't be continued either.

    `narrowed_by` is the parameter that leaves the database less to read; empty if there is none.
    """

    status = HTTPStatus.SERVICE_UNAVAILABLE
    retry_after = 10

    def __init__(self, narrowed_by: str) -> None:
        cure = f"narrow it by {narrowed_by}" if narrowed_by else "try again later"
        super().__init__(f"The request takes too long: {cure}")


class InternalError(Failure):
    """500 for everything that should not happen. The reason is logged."""

    status = HTTPStatus.INTERNAL_SERVER_ERROR

    def __init__(self, reason: str = "") -> None:
        super().__init__("Internal error")
        self.reason = reason


class WrongMethod(Failure):
    """405 of the Spring endpoints. Classic endpoints answer 404 to other methods."""

    status = HTTPStatus.METHOD_NOT_ALLOWED

    def __init__(self, method: str) -> None:
        super().__init__(f"Request method '{method}' is not supported")


class TooLarge(Failure):
    """413 for a body that is larger than the operator allows."""

    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE

    def __init__(self, max_bytes: int) -> None:
        super().__init__(f"The request body is too large: at most {max_bytes} bytes are taken")


class UnsupportedMediaType(Failure):
    """415 for a body of a media type that the endpoint does not accept, or of none."""

    status = HTTPStatus.UNSUPPORTED_MEDIA_TYPE

    def __init__(self, content_type: str) -> None:
        self.content_type = content_type
        sent = f" '{content_type}'" if content_type else ""
        super().__init__(f"Content-Type{sent} is not supported")


def classic_envelope(failure: Failure) -> dict[str, Any]:
    return _envelope(
        {"message": problem.message} | ({} if problem.detail is None else {"detail": problem.detail})
        for problem in failure.problems
    )


def spring_envelope(failure: Failure) -> dict[str, Any]:
    if isinstance(failure, InvalidParameter):
        return classic_envelope(failure)
    if isinstance(failure, Unavailable):
        texts = [problem.detail or "" for problem in failure.problems]
    elif failure.status >= HTTPStatus.INTERNAL_SERVER_ERROR and not isinstance(failure, TimeBudgetExceeded):
        texts = [""] * len(failure.problems)
    else:
        texts = spring_texts(failure)
    return _envelope({"detail": text, "message": reason_phrase(failure.status)} for text in texts)


def reason_phrase(status: HTTPStatus) -> str:
    """Return the reason phrase of a status: of 413 the one of the original, which Python 3.13 changed."""
    return {413: "Request Entity Too Large"}.get(status, status.phrase)


def spring_texts(failure: Failure) -> list[str]:
    """Return the texts of Spring endpoints for a failure: its messages, and why something may be missing."""
    details = [problem.detail for problem in failure.problems if isinstance(failure, NotFound)]
    return [*(problem.message for problem in failure.problems), *filter(None, details)]


def _envelope(messages: Iterable[dict[str, Any]]) -> dict[str, Any]:
    return {"_status": {"messages": list(messages)}}


def to_failure(error: Exception, request: HttpRequest, view: Any = None) -> Failure:
    """Return the failure that an exception is reported as. The rest is logged."""
    if isinstance(error, _TAKES_TOO_LONG):
        log.warning("request_took_too_long", method=request.method, path=request.get_full_path())
        return TimeBudgetExceeded("" if view is None else view.narrowed_by())
    if isinstance(error, Failure):
        if isinstance(error, InternalError):
            log.error("internal_error", method=request.method, path=request.path, reason=error.reason)
        return error
    if isinstance(error, MethodNotAllowed):
        return WrongMethod(str(request.method))
    if isinstance(error, Http404):
        return NotFound()
    if isinstance(error, Throttled):
        return TooManyRequests(TOO_MANY_REQUESTS, retry_after=round(getattr(error, "wait", None) or 0))
    if isinstance(error, AuthenticationFailed | NotAuthenticated):
        return Unauthorized()
    if isinstance(error, PermissionDenied):
        return Forbidden(str(error.detail))
    if isinstance(error, Busy):
        return Unavailable(BUSY)
    if outage.is_outage(error):
        outage.report(error, request=True)
        return Unavailable(outage.SENTENCE)
    if isinstance(error, psycopg.Error | DatabaseError):
        log.error("database_error", method=request.method, path=request.path, exc_info=error)
        return Unavailable()
    log.error("unexpected_error", method=request.method, path=request.path, exc_info=error)
    return Unavailable() if lacks_descriptors(error) else InternalError()


def lacks_descriptors(error: BaseException | None) -> bool:
    """Return whether an error means that this process, or the machine, has too many files open."""
    return isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE)


def answer(error: Exception, context: dict[str, Any]) -> Response:
    """Answer an exception: the exception handler of all views."""
    view = context["view"]
    failure = to_failure(error, context["request"], view)
    response: Response = view.failed(failure)
    if failure.retry_after:
        response.headers["retry-after"] = str(failure.retry_after)
    if header := getattr(error, "auth_header", None):
        response.headers["www-authenticate"] = header
    return response


# Answers to failures outside of the views, most of them Django's own error handlers.


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return page(NotFound())


def bad_request(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    return page(BadRequest("Bad request"))


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer a failure after the view, such as in a renderer. Django's own log line is discarded."""
    log.error("unexpected_error", method=request.method, path=request.path, exc_info=sys.exception())
    return page(Unavailable() if lacks_descriptors(sys.exception()) else InternalError())


def page(failure: Failure) -> HttpResponse:
    """Answer a failure that no view answers."""
    body = render(classic_envelope(failure))
    headers = {"retry-after": str(failure.retry_after)} if failure.retry_after else None
    return HttpResponse(
        body, status=failure.status, content_type="application/json; charset=utf-8", headers=headers
    )
