"""HTTP around every answer of the API: users, the response cache, cross-origin requests, entity tags,
conditional requests, compression.

It is the outermost layer: an answer from the cache takes neither the router nor the database. A view returns
whatever response suits it (DRF's, Django's, or a streaming one) and leaves all of this to the middleware.
"""

from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import xxhash
from django.http import HttpRequest, HttpResponse, HttpResponseNotModified, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.urls import Resolver404, resolve
from django.utils.cache import patch_vary_headers
from django.utils.http import parse_etags

from mirror.core import config
from mirror.core.db import loaded_ranges
from mirror.core.metrics import http
from mirror.core.rest import users
from mirror.core.rest.answers import compression, errors
from mirror.core.rest.answers.views import SpringReadView
from mirror.core.rest.cache import responses
from mirror.core.rest.cache.responses import CachedResponse
from mirror.core.rest.users import WrongCredentials

_READ_METHODS = ("GET", "HEAD")
_METHODS = "GET,HEAD,PUT,PATCH,POST,DELETE"
_OWN_PAGES = ("/admin", "/static")
# Answered by the node, not by the API.
_NOT_API = (*_OWN_PAGES, "/health", "/metrics")
# Headers of an answer whose body the client has already.
_UNCHANGED = (
    *("cache-control", "etag", "access-control-allow-origin", "access-control-expose-headers", "vary"),
    *("link", "mirror-loaded", "warning"),
)
# Headers that scripts of other sites may read, besides those that browsers allow anyway.
_EXPOSED = (loaded_ranges.HEADER, "Warning")


class ApiMiddleware:
    """Serves OPTIONS on every path, and completes the answers of the API; others pass through."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        self._cache = responses.configured()
        self._users = users.configured()
        self._vary = ["Accept-Encoding"] if self._users is None else ["Accept-Encoding", "Authorization"]
        self._compresses: bool = config.value("rest.response.compression")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if request.method == "OPTIONS" and not path.startswith(_OWN_PAGES):
            return _preflight(request)
        if path.startswith(_NOT_API):
            return self.get_response(request)
        if self._users is not None and not self._authenticate(request):
            return self._completed(request, errors.unauthorized(), None)
        if self._cache is None or (key := self._cache.key(request)) is None:
            return self._completed(request, self._response(request), None)
        if (hit := self._cache.find(key)) is not None:
            http.CACHE.add("hit")
            return self._from_cache(request, *hit)
        http.CACHE.add("miss")
        response, cached = self._response(request), None
        if isinstance(response, HttpResponse):
            _add_etag(response)
            response.headers["access-control-allow-origin"] = "*"
            cached = self._cache.store(key, response, response.content)
        return self._completed(request, response, cached)

    def _response(self, request: HttpRequest) -> HttpResponseBase:
        response = self.get_response(request)
        if exposed := [name for name in _EXPOSED if name in response.headers]:
            response.headers["access-control-expose-headers"] = ", ".join(exposed)
        return response

    def _authenticate(self, request: HttpRequest) -> bool:
        """Return whether the request is admitted; for a user, note the most rows of a page.

        Only classic endpoints know users. The endpoint is looked up only for wrong credentials.
        """
        assert self._users is not None
        authorization = request.META.get("HTTP_AUTHORIZATION")
        if authorization is None:
            return True
        try:
            user = self._users.find(authorization)
        except WrongCredentials:
            return _is_public(request.path_info)
        if user is not None:
            request.META[users.MAX_ROWS] = user.limit
        return True

    def _completed(
        self, request: HttpRequest, response: HttpResponseBase, cached: CachedResponse | None
    ) -> HttpResponseBase:
        headers = response.headers
        headers["access-control-allow-origin"] = "*"
        patch_vary_headers(response, self._vary)
        # Django would log every mistake of a client. Mistakes of our own have been logged already.
        response._has_been_logged = True  # type: ignore[attr-defined]
        if isinstance(response, StreamingHttpResponse):
            return self._compressed_stream(request, response)
        assert isinstance(response, HttpResponse)
        if request.method in _READ_METHODS and "etag" not in headers:
            _add_etag(response)
        if 200 <= response.status_code < 300 and _client_has(request, headers):
            return _unchanged(headers)
        body = response.content
        if self._compresses and len(body) >= compression.THRESHOLD:
            encoding = compression.preferred(request.META.get("HTTP_ACCEPT_ENCODING", ""))
            if encoding is not None:
                if cached is not None and cached.gzipped and encoding == "gzip":
                    body = cached.body
                else:
                    body = compression.compress(body, encoding)
                headers["content-encoding"] = encoding
                response.content = body
        headers["content-length"] = str(len(body))
        return response

    def _compressed_stream(
        self, request: HttpRequest, response: StreamingHttpResponse
    ) -> StreamingHttpResponse:
        """Compress a body of unknown length, which therefore has no entity tag."""
        if self._compresses and compression.accepts_gzip(request.META.get("HTTP_ACCEPT_ENCODING", "")):
            response.headers["content-encoding"] = "gzip"
            response.headers.pop("content-length", None)
            pieces = cast(Iterator[bytes], response.streaming_content)
            response.streaming_content = compression.gzip_chunks(pieces)
        return response

    def _from_cache(self, request: HttpRequest, cached: CachedResponse, max_age: int) -> HttpResponse:
        if _client_has(request, cached.headers):
            return _unchanged(self._headers(cached, max_age))
        headers, body = self._cached(request.META, cached, max_age)
        return HttpResponse(body, headers=headers)

    def at_once(self, environ: Mapping[str, Any]) -> tuple[dict[str, str], bytes] | None:
        """Return headers and body of a successful answer to a WSGI environment, if they are at hand."""
        if self._cache is None or "HTTP_IF_NONE_MATCH" in environ:
            return None
        hit = self._cache.find_at_once(environ)
        if hit is None:
            return None
        http.CACHE.add("hit")
        return self._cached(environ, *hit)

    def _cached(
        self, sent: Mapping[str, Any], cached: CachedResponse, max_age: int
    ) -> tuple[dict[str, str], bytes]:
        """Return the headers and the body of an answer. Clients that take gzip get it as it is stored."""
        headers, body = self._headers(cached, max_age), cached.body
        if cached.gzipped:
            if compression.accepts_gzip(sent.get("HTTP_ACCEPT_ENCODING", "")):
                headers["content-encoding"] = "gzip"
            else:
                body = compression.gunzip(body)
        headers["content-length"] = str(len(body))
        return headers, body

    def _headers(self, cached: CachedResponse, max_age: int) -> dict[str, str]:
        return {
            **cached.headers,
            "cache-control": responses.cache_control(max_age),
            "vary": ", ".join(self._vary),
        }


def _is_public(path: str) -> bool:
    try:
        view = getattr(resolve(path).func, "cls", None)
    except Resolver404:
        return False
    return isinstance(view, type) and issubclass(view, SpringReadView)


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


def _unchanged(headers: Mapping[str, str]) -> HttpResponse:
    return HttpResponseNotModified(headers={name: headers[name] for name in _UNCHANGED if name in headers})


# ENTITY TAGS: what identifies the body of an answer, so that a client that has it gets none.


def _add_etag(response: HttpResponse) -> None:
    """Add the entity tag of the body: a strong one where `response.weak_etag` is False."""
    body = response.content
    weak = getattr(response, "weak_etag", True)
    response.headers["etag"] = _weak(body) if weak else _strong(body)


# The tags have the form of the original's, with hashes that take a thirtieth of the time of SHA-1 and MD5.


def _weak(body: bytes) -> str:
    digest = xxhash.xxh3_128_digest(body) + xxhash.xxh3_64_digest(body)
    return f'W/"{len(body):x}-{b64encode(digest).decode()[:27]}"'


def _strong(body: bytes) -> str:
    return f'"0{xxhash.xxh3_128_hexdigest(body)}"'


def _client_has(request: HttpRequest, headers: Mapping[str, str]) -> bool:
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
