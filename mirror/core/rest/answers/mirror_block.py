"""The header Mirror-Block: the newest block that an answer rests on, which a client may give back.

A request with it is answered from that block or a later one, whichever server of the database it is read
from. Where that block has yet to come the request waits briefly, and then gets 503 with Retry-After.
Answers have the header where the node reads from replicas, and otherwise if the request has it.
"""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Any

from django.http import HttpRequest
from django.http.response import HttpResponseBase

from mirror.core.db.availability import outage
from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.db.replicas import block_requirement
from mirror.core.db.replicas.block_requirement import BlockNotAvailable
from mirror.core.db.replicas.shared_state import NO_BLOCK
from mirror.core.db.scheduling.request_scheduler import ClientDisconnected, TooManySlowRequests
from mirror.core.rest.answers import errors
from mirror.core.rest.cache.responses import CachedResponse

NAME = "Mirror-Block"
HEADER = "mirror-block"
SENT = "HTTP_MIRROR_BLOCK"

_RETRY_AFTER = "1"
_NOT_READ = (BlockNotAvailable, TooManySlowRequests, ClientDisconnected, *outage.ERRORS)


def is_wanted(sent: Mapping[str, Any]) -> bool:
    """Return whether the answer to a request has the header."""
    return SENT in sent or block_requirement.reader is not None


def is_new_enough(cached: CachedResponse, sent: Mapping[str, Any]) -> bool:
    """Return whether a cached answer is new enough for a client."""
    since = _since(sent)
    if since is None:
        # It is refused.
        return False
    block = cached.headers.get(HEADER)
    return max(block_requirement.newest_answered(), since) <= (NO_BLOCK if block is None else int(block))


def answered(
    request: HttpRequest, answer: Callable[[HttpRequest], HttpResponseBase]
) -> tuple[HttpResponseBase, bool]:
    """Answer a request with the header, from a state that is new enough for its client.

    Also return whether the answer may be cached: all of it has to be as new as the header says.
    """
    since = _since(request.META)
    if since is None:
        return errors.page(errors.InvalidParameter(NAME)), False
    try:
        response, newest, is_consistent = _answered_since(since, request, answer)
    finally:
        block_requirement.end()
    if newest > NO_BLOCK:
        response.headers[HEADER] = str(newest)
    if response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
        response.headers.setdefault("retry-after", _RETRY_AFTER)
    return response, is_consistent


def _answered_since(
    since: int, request: HttpRequest, answer: Callable[[HttpRequest], HttpResponseBase]
) -> tuple[HttpResponseBase, int, bool]:
    """Return the answer, its newest block, and whether all of it rests on that."""
    try:
        requirement = block_requirement.begin(since)
    except _NOT_READ as error:
        return errors.page(errors.to_failure(error, request)), NO_BLOCK, False
    response = answer(request)
    try:
        newest = block_requirement.newest(requirement)
    except _NOT_READ:
        # The answer is complete, and as right without the header.
        return response, NO_BLOCK, False
    return response, newest, requirement.is_consistent(newest)


def _since(sent: Mapping[str, Any]) -> int | None:
    """Return the block that a client has seen, NO_BLOCK for one that gives none; None if it is no number."""
    text: str | None = sent.get(SENT)
    if text is None:
        return NO_BLOCK
    text = text.strip()
    return int(text) if text.isascii() and text.isdecimal() and len(text) < len(str(MAX_INT64)) else None
