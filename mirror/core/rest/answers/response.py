"""The response of a view, without what an answer of the API never has: templates, cookies, or a choice.

Making DRF's own takes as long as everything else between a view and the web server.
"""

from functools import cached_property
from http.cookies import SimpleCookie
from typing import Any

from django.http.response import ResponseHeaders
from rest_framework.response import Response

from mirror.core.rest.answers.rendering import JsonRenderer


class Headers(ResponseHeaders):
    """Django's headers, which look closer only at names and values that need it."""

    def __setitem__(self, name: str, text: Any) -> None:
        if isinstance(text, str) and text.isascii() and text.isprintable() and name.isascii():
            self._store[name.lower()] = name, text
        else:
            super().__setitem__(name, text)


class ApiResponse(Response):
    """An answer as data, which its renderer turns into bytes."""

    accepted_renderer: JsonRenderer
    weak_etag: bool = True

    # What Django and DRF would set on each instance.
    template_name: Any = None
    context_data = using = content_type = _charset = _reason_phrase = _handler_class = None
    exception = closed = _is_rendered = False

    def __init__(self, data: Any = None, status: int = 200) -> None:
        self.data, self.status_code = data, int(status)
        self.headers = Headers({})
        self._resource_closers: list[Any] = []
        self._post_render_callbacks: list[Any] = []

    @cached_property
    def cookies(self) -> SimpleCookie:  # type: ignore[override]
        return SimpleCookie()

    def render(self) -> "ApiResponse":
        """Turn the data into the body, once."""
        if not self._is_rendered:
            renderer = self.accepted_renderer
            self.headers["Content-Type"] = renderer.content_type
            self._container = [renderer.render(self.data)]
            self._is_rendered = True
        return self
