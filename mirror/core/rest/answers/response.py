"""The renderers of the API: compact JSON with exact 64-bit integers; plain text."""

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request


def render(data: Any) -> bytes:
    return orjson.dumps(data)


class JsonRenderer(BaseRenderer):
    """`application/json; charset=utf-8`, for classic endpoints."""

    media_type = "application/json"
    charset: str | None = "utf-8"

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


class OwnRenderer(BaseContentNegotiation):
    """Each view has one renderer, whatever a client accepts."""

    def select_parser(self, request: Request, parsers: Iterable[Any]) -> Any:
        return None

    def select_renderer(
        self, request: Request, renderers: Iterable[Any], format_suffix: str | None = None
    ) -> tuple[Any, str]:
        (renderer,) = renderers
        return renderer, renderer.media_type
