"""GET /static/unfold/..., /static/admin/...: scripts and styles of the admin and of Swagger UI, compressed.

Granian would send these files as they are, which makes the admin's first page several times as large.
"""

import hashlib
from functools import lru_cache
from pathlib import Path

import brotli
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

from mirror.core.rest.answers import compression

FOLDERS = ("admin", "drf_spectacular_sidecar", "unfold")

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".woff2": "font/woff2",
    ".svg": "image/svg+xml",
}
_COMPRESSIBLE = (".css", ".js")
_MAX_AGE = 3600
_MAX_FILES = 32


@require_safe
def asset(request: HttpRequest, folder: str, path: str) -> HttpResponseBase:
    name = f"{folder}/{path}"
    content_type = _TYPES.get(Path(path).suffix)
    found = finders.find(name) if content_type and ".." not in path else None
    if found is None:
        raise Http404(name)
    encoding = None
    if path.endswith(_COMPRESSIBLE):
        encoding = compression.preferred(request.headers.get("accept-encoding", ""))
    body = _body(Path(found), encoding)
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    response = HttpResponse(body, content_type=content_type)
    headers = {"cache-control": f"public, max-age={_MAX_AGE}", "etag": tag, "vary": "Accept-Encoding"}
    if encoding:
        headers["content-encoding"] = encoding
    for name, value in headers.items():
        response.headers[name] = value
    return get_conditional_response(request, etag=tag, response=response) or response


@lru_cache(_MAX_FILES)
def _body(file: Path, encoding: str | None) -> bytes:
    content = file.read_bytes()
    if encoding == "br":
        # Once for each process, so it may take longer than an answer of the API.
        return bytes(brotli.compress(content, quality=9))
    return compression.compress(content, encoding) if encoding else content
