"""HTTP around every answer of the API: the response cache, cross-origin requests, entity tags, conditional
requests, compression.

It stands outside of everything else: an answer from the cache takes neither the router nor the database.
"""

import hashlib
from base64 import b64encode
from collections.abc import Callable, Mapping

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from rest_framework.response import Response

from mirror import config
from mirror.rest.answers import cache, compression
from mirror.rest.answers.stores import Kept

_READ_METHODS = ("GET", "HEAD")
_METHODS = "GET,HEAD,PUT,PATCH,POST,DELETE"
_OWN_PAGES = ("/admin", "/static")
_VARY = "Accept-Encoding"


class ApiMiddleware:
    """Serves OPTIONS on every path, and completes the answers of the API; others pass through."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._cache = cache.configured()
        self._compresses: bool = config.value("rest.response.compression")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.method == "OPTIONS" and not request.path_info.startswith(_OWN_PAGES):
            return _preflight(request)
        if self._cache is None or (key := self._cache.key(request)) is None:
            response = self.get_response(request)
            return self._completed(request, response, None) if isinstance(response, Response) else response
        if found := self._cache.find(key):
            return _from_cache(request, *found)
        response = self.get_response(request)
        if not isinstance(response, Response):
            return response
        _tag(response)
        return self._completed(request, response, self._cache.keep(key, response, response.content))

    def _completed(self, request: HttpRequest, response: Response, kept: Kept | None) -> HttpResponse:
        if request.method not in _READ_METHODS:
            response.headers["access-control-allow-origin"] = "*"
        elif "etag" not in response.headers:
            _tag(response)
        headers = response.headers
        headers["vary"] = _VARY
        etag = headers.get("etag")
        if etag is not None and 200 <= response.status_code < 300 and _client_has(request, etag):
            return _unchanged(headers)
        body = response.content
        if self._compresses and len(body) >= compression.THRESHOLD:
            encoding = compression.preferred(request.META.get("HTTP_ACCEPT_ENCODING", ""))
            if encoding is not None:
                if kept is not None and kept.gzipped and encoding == "gzip":
                    body = kept.body
                else:
                    body = compression.compress(body, encoding)
                headers["content-encoding"] = encoding
                response.content = body
        headers["content-length"] = str(len(body))
        return response


def _from_cache(request: HttpRequest, kept: Kept, max_age: int) -> HttpResponse:
    """Clients that take gzip get what is kept as it is."""
    headers = {**kept.headers, "cache-control": cache.cache_control(max_age), "vary": _VARY}
    if _client_has(request, headers["etag"]):
        return _unchanged(headers)
    body = kept.body
    if kept.gzipped:
        if compression.accepts_gzip(request.META.get("HTTP_ACCEPT_ENCODING", "")):
            headers["content-encoding"] = "gzip"
        else:
            body = compression.gunzip(body)
    headers["content-length"] = str(len(body))
    return HttpResponse(body, headers=headers)


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


def _tag(response: Response) -> None:
    """The headers that depend on the answer alone."""
    body = response.content
    weak = getattr(response, "weak_etag", True)
    response.headers["etag"] = _weak_etag(body) if weak else _strong_etag(body)
    response.headers["access-control-allow-origin"] = "*"


_KEPT = ("cache-control", "etag", "access-control-allow-origin", "vary", "link")


def _unchanged(headers: Mapping[str, str]) -> HttpResponse:
    response = HttpResponse(status=304, headers={name: headers[name] for name in _KEPT if name in headers})
    del response.headers["content-type"]
    return response


def _weak_etag(body: bytes) -> str:
    return f'W/"{len(body):x}-{b64encode(hashlib.sha1(body, usedforsecurity=False).digest()).decode()[:27]}"'


def _strong_etag(body: bytes) -> str:
    return f'"0{hashlib.md5(body, usedforsecurity=False).hexdigest()}"'


def _client_has(request: HttpRequest, etag: str) -> bool:
    """Whether `If-None-Match` names the tag; weak and strong tags compare alike.

    `Cache-Control` of the client counts for nothing: it can't pass by the cache either.
    """
    sent = request.META.get("HTTP_IF_NONE_MATCH")
    if sent is None:
        return False
    tags = [tag.strip() for tag in sent.split(",")]
    return "*" in tags or etag.removeprefix("W/") in [tag.removeprefix("W/") for tag in tags]
