"""The HTML pages for people outside the admin: their common frame and headers.

A page loads only files of this node. Granian serves most of them, from the installed packages.
"""

from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.template.loader import render_to_string
from django.utils.cache import patch_vary_headers

from mirror.core.rest.answers import errors
from mirror.core.rest.answers.errors import Unavailable
from mirror.core.values.human_readable import marked

_HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; connect-src 'self'; "
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "same-origin",
}
#: Swagger UI writes styles into its page, and has images in its styles.
SWAGGER_HEADERS = _HEADERS | {
    "Content-Security-Policy": _HEADERS["Content-Security-Policy"]
    .replace("style-src 'self'", "style-src 'self' 'unsafe-inline'")
    .replace("img-src 'self'", "img-src 'self' data:"),
    "Cache-Control": "no-store",
}


def html(template: str, context: Mapping[str, Any]) -> str:
    """Return a page. The version in the addresses of its files lets browsers fetch those of a new release."""
    return render_to_string(f"mirror/pages/{template}", {**context, "version": settings.VERSION})


def page(text: str, *, status: int = 200, max_age: int = 0) -> HttpResponse:
    """Return the answer with a page, which browsers may cache for `max_age` seconds."""
    headers = {**_HEADERS, "Cache-Control": f"public, max-age={max_age}" if max_age else "no-store"}
    if status == HTTPStatus.SERVICE_UNAVAILABLE:
        headers["Retry-After"] = str(Unavailable.retry_after)
    return HttpResponse(marked(text), status=status, headers=headers)


def not_found(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:
    """Return 404: a page for clients that prefer HTML, as browsers do; below /api/ and for others JSON."""
    if request.path.startswith("/api/"):
        return errors.not_found(request)
    if request.get_preferred_type(["application/json", "text/html"]) == "text/html":
        response = page(html("missing.html", {}), status=HTTPStatus.NOT_FOUND)
    else:
        response = errors.not_found(request)
    patch_vary_headers(response, ["Accept"])
    return response
