"""Bodies of requests: of the kinds an endpoint takes, and no larger than the operator allows."""

from collections.abc import Container

from django.http import HttpRequest
from rest_framework.request import Request

from mirror import config
from mirror.rest.answers.errors import BadRequest, TooLarge, Unavailable, UnsupportedMediaType

#: What a body is that nobody has named (RFC 9110, section 8.3).
_UNNAMED = "application/octet-stream"

UNREADABLE = "Failed to read request"


def read_body(request: Request, media_types: Container[str]) -> bytes:
    """The body of the request. Errors: UnsupportedMediaType, TooLarge, BadRequest for one that breaks off,
    Unavailable while others keep all threads waiting for theirs."""
    return body_of(request._request, media_types)


def body_of(received: HttpRequest, media_types: Container[str]) -> bytes:
    """The same of a request as Django has it."""
    content_type = received.META.get("CONTENT_TYPE", "").strip() or _UNNAMED
    if content_type.partition(";")[0].strip().lower() not in media_types:
        raise UnsupportedMediaType(content_type)
    most = config.value("rest.request.maxBodySize") << 10
    size = _size(received, most)
    if size is None:
        raise TooLarge(most)
    try:
        body: bytes = received.META["wsgi.input"].read(size)
    except TimeoutError:
        raise Unavailable from None
    except OSError:
        raise BadRequest(UNREADABLE) from None
    if len(body) > most:
        raise TooLarge(most)
    return body


def _size(request: HttpRequest, most: int) -> int | None:
    """How much to read of the body; None if it says itself that it is too large."""
    length = request.META.get("CONTENT_LENGTH") or ""
    if length.isdecimal():
        return int(length) if int(length) <= most else None
    # A body in chunks ends with its stream.
    return most + 1 if "HTTP_TRANSFER_ENCODING" in request.META else 0
