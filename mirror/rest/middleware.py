"""HTTP around every answer of the API: cross-origin requests, entity tags, conditional requests.

The place of the shared response cache and of compression is here too, outside of them all.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.response import Response

_METHODS = "GET,HEAD,PUT,PATCH,POST,DELETE"
_OWN_PAGES = ("/admin", "/static")


class ApiMiddleware:
    """Serves OPTIONS on every path, and completes the answers of the API; others pass through."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method == "OPTIONS" and not request.path_info.startswith(_OWN_PAGES):
            return _preflight(request)
        response = self.get_response(request)
        if not isinstance(response, Response):
            return response
        return _completed(request, response)


def _preflight(request: HttpRequest) -> HttpResponse:
    response = HttpResponse(status=204)
    del response.headers["content-type"]
    response.headers["access-control-allow-origin"] = "*"
    response.headers["access-control-allow-methods"] = _METHODS
    response.headers["vary"] = "Access-Control-Request-Headers"
    if requested := request.META.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS"):
        response.headers["access-control-allow-headers"] = requested
    response.headers["content-length"] = "0"
    return response


def _completed(request: HttpRequest, response: Response) -> HttpResponseBase:
    body = response.content
    etag = _weak_etag(body) if getattr(response, "weak_etag", True) else _strong_etag(body)
    headers = response.headers
    headers["etag"] = etag
    headers["access-control-allow-origin"] = "*"
    headers["vary"] = "Accept-Encoding"
    if 200 <= response.status_code < 300 and _client_has(request, etag):
        unchanged = HttpResponse(
            status=304, headers={name: headers[name] for name in _KEPT if name in headers}
        )
        del unchanged.headers["content-type"]
        return unchanged
    headers["content-length"] = str(len(body))
    return response


_KEPT = ("cache-control", "etag", "access-control-allow-origin", "vary", "link")


def _weak_etag(body: bytes) -> str:
    return f'W/"{len(body):x}-{b64encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()[:27]}"'


def _strong_etag(body: bytes) -> str:
    return f'"0{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def _client_has(request: HttpRequest, etag: str) -> bool:
    """Whether `If-None-Match` names the tag; weak and strong tags compare alike."""
    sent = request.META.get("HTTP_IF_NONE_MATCH")
    if sent is None or "no-cache" in request.META.get("HTTP_CACHE_CONTROL", ""):
        return False
    tags = [tag.strip() for tag in sent.split(",")]
    return "*" in tags or etag.removeprefix("W/") in [tag.removeprefix("W/") for tag in tags]
