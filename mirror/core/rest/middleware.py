"""HTTP around every answer of the API: cross-origin requests, entity tags, conditional requests, compression.

A view returns whatever response suits it (REST framework's, Django's, or a streaming one) and leaves all of
this to the middleware.
"""

from collections.abc import Callable, Iterator, Mapping
from typing import cast

from django.http import HttpRequest, HttpResponse, HttpResponseNotModified, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers

from mirror.core import config
from mirror.core.rest import users
from mirror.core.rest.answers import compression, entity_tags
from mirror.core.rest.cache.responses import CachedAnswer
from mirror.core.rest.views import LOADED_HEADER

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
_EXPOSED = (LOADED_HEADER, "Warning")


class ApiMiddleware:
    """Serves OPTIONS on every path, and completes the answers of the API; others pass through."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response
        has_users = users.configured() is not None
        self._vary = ["Accept-Encoding", "Authorization"] if has_users else ["Accept-Encoding"]
        self._compresses: bool = config.value("rest.response.compression")

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        path = request.path_info
        if request.method == "OPTIONS" and not path.startswith(_OWN_PAGES):
            return _preflight(request)
        response = self.get_response(request)
        if path.startswith(_NOT_API):
            return response
        headers = response.headers
        headers["access-control-allow-origin"] = "*"
        if exposed := [name for name in _EXPOSED if name in headers]:
            headers["access-control-expose-headers"] = ", ".join(exposed)
        patch_vary_headers(response, self._vary)
        # Django would log every mistake of a client. Mistakes of our own have been logged already.
        response._has_been_logged = True  # type: ignore[attr-defined]
        if isinstance(response, StreamingHttpResponse):
            return self._compressed_stream(request, response)
        assert isinstance(response, HttpResponse)
        if request.method in _READ_METHODS and "etag" not in headers:
            entity_tags.add(response)
        if 200 <= response.status_code < 300 and entity_tags.client_has(request, headers):
            return _unchanged(headers)
        self._compress(request, response)
        headers["content-length"] = str(len(response.content))
        return response

    def _compress(self, request: HttpRequest, response: HttpResponse) -> None:
        accepted = request.META.get("HTTP_ACCEPT_ENCODING", "")
        if isinstance(response, CachedAnswer) and response.gzipped is not None:
            # Clients that take gzip get it as it is stored.
            if self._compresses and compression.accepts_gzip(accepted):
                response.content = response.gzipped
                response.headers["content-encoding"] = "gzip"
                return
            response.expand()
        if self._compresses and len(response.content) >= compression.THRESHOLD:
            encoding = compression.preferred(accepted)
            if encoding is not None:
                response.content = compression.compress(response.content, encoding)
                response.headers["content-encoding"] = encoding

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


def _preflight(request: HttpRequest) -> HttpResponse:
    response = HttpResponse(status=204)
    del response.headers["content-type"]
    response.headers["access-control-allow-origin"] = "*"
    response.headers["access-control-allow-methods"] = _METHODS
    response.headers["vary"] = "Access-Control-Request-Headers"
    if requested := request.META.get("HTTP_ACCESS_CONTROL_REQUEST_HEADERS"):
        response.headers["access-control-allow-headers"] = requested
    return response


def _unchanged(headers: Mapping[str, str]) -> HttpResponse:
    return HttpResponseNotModified(headers={name: headers[name] for name in _UNCHANGED if name in headers})
