"""GET /static/unfold/...: the scripts and styles of django-unfold, compressed, by which the admin's pages stay
small. Granian sends files as they are."""

import gzip
import hashlib
from functools import lru_cache
from pathlib import Path

import brotli
from django.contrib.staticfiles import finders
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.utils.cache import get_conditional_response
from django.views.decorators.http import require_safe

FOLDER = "unfold"

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".woff2": "font/woff2",
}
_MAX_AGE = 3600
_MOST_FILES = 32


@require_safe
def asset(request: HttpRequest, path: str) -> HttpResponseBase | None:
    name = f"{FOLDER}/{path}"
    content_type = _TYPES.get(Path(path).suffix)
    found = finders.find(name) if content_type and ".." not in path else None
    if found is None:
        raise Http404(name)
    accepted = request.headers.get("accept-encoding", "")
    encoding = next((each for each in ("br", "gzip") if each in accepted and path.endswith((".css", ".js"))), "")
    body = _body(Path(found), encoding)
    tag = f'"{hashlib.sha256(body).hexdigest()[:16]}"'
    response = HttpResponse(body, content_type=content_type)
    response.headers |= {"cache-control": f"public, max-age={_MAX_AGE}", "etag": tag, "vary": "Accept-Encoding"}
    response.headers["x-content-type-options"] = "nosniff"
    if encoding:
        response.headers["content-encoding"] = encoding
    return get_conditional_response(request, etag=tag, response=response)


@lru_cache(_MOST_FILES)
def _body(file: Path, encoding: str) -> bytes:
    content = file.read_bytes()
    if encoding == "br":
        return brotli.compress(content, quality=9)
    return gzip.compress(content) if encoding else content
