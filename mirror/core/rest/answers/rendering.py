"""Renderers: compact JSON with exact 64-bit integers, members in the order of the dict; plain text."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer


def render(data: Any) -> bytes:
    return orjson.dumps(data)


class JsonRenderer(BaseRenderer):
    """`application/json; charset=utf-8`, for classic endpoints."""

    media_type = "application/json"
    charset: str | None = "utf-8"

    @property
    def content_type(self) -> str:
        """The header of the answer."""
        return self.media_type if self.charset is None else f"{self.media_type}; charset={self.charset}"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
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

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return str(data).encode()
