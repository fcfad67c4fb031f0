"""Entity tags: what identifies the body of an answer, so that a client that has it gets none."""

import hashlib
from base64 import b64encode
from collections.abc import Mapping

from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags


def add(response: HttpResponse) -> None:
    """Add the entity tag of the body: a strong one where `response.weak_etag` is False."""
    body = response.content
    weak = getattr(response, "weak_etag", True)
    response.headers["etag"] = _weak(body) if weak else _strong(body)


def _weak(body: bytes) -> str:
    return f'W/"{len(body):x}-{b64encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()[:27]}"'


def _strong(body: bytes) -> str:
    return f'"0{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def client_has(request: HttpRequest, headers: Mapping[str, str]) -> bool:
    """Return whether `If-None-Match` names the tag in `headers`; weak and strong tags compare alike.

    `Cache-Control` of the client is ignored: no client can bypass the cache. Django's
    `get_conditional_response` would also answer 412 to If-Match and If-Unmodified-Since, which no client of
    this API expects.
    """
    sent = request.META.get("HTTP_IF_NONE_MATCH")
    if sent is None or "etag" not in headers:
        return False
    tags = parse_etags(sent)
    return tags == ["*"] or headers["etag"].removeprefix("W/") in [tag.removeprefix("W/") for tag in tags]
