"""The response of a view, and its renderers: compact JSON with exact 64-bit integers; plain text.

A response is without what an answer of the API never has: templates, cookies, or a choice.

Making DRF's own takes as long as everything else between a view and the web server.
"""

from collections.abc import Mapping, ValuesView
from functools import cached_property
from http.cookies import SimpleCookie
from typing import Any

import orjson
from django.http.response import ResponseHeaders
from rest_framework.renderers import BaseRenderer
from rest_framework.response import Response


def render(data: Any) -> bytes:
    return orjson.dumps(data)


class JsonRenderer(BaseRenderer):
    """`application/json; charset=utf-8`, for classic endpoints."""

    media_type = "application/json"
    charset: str | None = "utf-8"

    @property
    def content_type(self) -> str:
        return self.media_type if self.charset is None else f"{self.media_type}; charset={self.charset}"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return self.encode(data)

    @staticmethod
    def encode(data: Any) -> bytes:
        return render(data)


class SpringJsonRenderer(JsonRenderer):
    """`application/json;charset=UTF-8`, written as it stands, for Spring endpoints."""

    media_type = "application/json;charset=UTF-8"
    charset = None


class PlainJsonRenderer(JsonRenderer):
    """`application/json` without charset, for simulations and for errors of Spring endpoints."""

    charset = None


class PlainTextRenderer(JsonRenderer):
    """`text/plain;charset=UTF-8`, written as it stands. Errors are JSON all the same."""

    media_type = "text/plain;charset=UTF-8"
    charset = None

    @staticmethod
    def encode(data: Any) -> bytes:
        return str(data).encode()


class Headers(ResponseHeaders):
    """Django's headers, which look closer only at names and values that need it."""

    def __setitem__(self, name: str, text: Any) -> None:
        if isinstance(text, str) and text.isascii() and text.isprintable() and name.isascii():
            self._store[name.lower()] = name, text
        else:
            super().__setitem__(name, text)

    # Those of a mapping go by way of a KeyError, and of a look-up for each name.
    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and name.lower() in self._store

    def items(self) -> ValuesView[tuple[str, str]]:  # type: ignore[override]
        return self._store.values()


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
