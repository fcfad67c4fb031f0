"""Entity tags: what identifies the body of an answer, so that a client that has it gets none.

They have the form of the original's, with hashes that take a thirtieth of the time of SHA-1 and MD5.
"""

from base64 import b64encode
from collections.abc import Mapping

import xxhash
from django.http import HttpRequest, HttpResponse
from django.utils.http import parse_etags


def add(response: HttpResponse) -> None:
    """Add the tag of the body: a strong one where `response.weak_etag` is False."""
    body = response.content
    if getattr(response, "weak_etag", True):
        digest = xxhash.xxh3_128_digest(body) + xxhash.xxh3_64_digest(body)
        response.headers["etag"] = f'W/"{len(body):x}-{b64encode(digest).decode()[:27]}"'
    else:
        response.headers["etag"] = f'"0{xxhash.xxh3_128_hexdigest(body)}"'


def client_has(request: HttpRequest, headers: Mapping[str, str]) -> bool:
    """Return whether `If-None-Match` names the tag in `headers`; weak and strong tags compare alike.

    Django's `get_conditional_response` would also answer 412 to If-Match and If-Unmodified-Since, which no
    client of this API expects.
    """
    sent = request.META.get("HTTP_IF_NONE_MATCH")
    if sent is None or "etag" not in headers:
        return False
    tags = parse_etags(sent)
    return tags == ["*"] or headers["etag"].removeprefix("W/") in [tag.removeprefix("W/") for tag in tags]
