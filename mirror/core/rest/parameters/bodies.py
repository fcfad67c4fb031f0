"""Bodies of requests: of the media types an endpoint accepts, and no larger than the operator allows."""

import threading
from collections.abc import Container, Mapping
from typing import Any

from django.http import HttpRequest
from rest_framework.request import Request

from mirror.core import config
from mirror.core.rest.answers.errors import BadRequest, TooLarge, Unavailable, UnsupportedMediaType

# As many threads of a process may wait for a body that comes slowly.
_MAX_READING = 4
_reading = threading.BoundedSemaphore(_MAX_READING)

UNREADABLE = "Failed to read request"


def read_body(request: HttpRequest | Request, media_types: Container[str], unnamed: str = "") -> bytes:
    """Return the body of the request; `unnamed` is the media type of one that does not say its own.

    Errors: UnsupportedMediaType; TooLarge; BadRequest for a body that breaks off; Unavailable while others
    block all threads.
    """
    content_type = request.META.get("CONTENT_TYPE", "").strip() or unnamed
    if content_type.partition(";")[0].strip().lower() not in media_types:
        raise UnsupportedMediaType(content_type)
    max_size = config.value("rest.request.maxBodySize") << 10
    size = size_to_read(request.META, max_size)
    if size is None:
        raise TooLarge(max_size)
    if not _reading.acquire(blocking=False):
        raise Unavailable("Too many requests wait for their bodies: try again in a moment")
    try:
        # Django's own stream is empty for a body in chunks.
        body: bytes = request.META["wsgi.input"].read(size)
    except OSError:
        raise BadRequest(UNREADABLE) from None
    finally:
        _reading.release()
    if len(body) > max_size:
        raise TooLarge(max_size)
    return body


def size_to_read(headers: Mapping[str, Any], max_size: int) -> int | None:
    """Return how many bytes to read; None if the request itself says that its body is too large."""
    length = headers.get("CONTENT_LENGTH") or ""
    if length.isdecimal():
        return int(length) if int(length) <= max_size else None
    # A body in chunks ends with its stream.
    return max_size + 1 if "HTTP_TRANSFER_ENCODING" in headers else 0
