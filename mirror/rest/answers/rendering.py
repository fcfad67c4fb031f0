"""Answers as bytes: compact JSON, members in the order given, whole numbers of 64 bits exact; plain text."""

from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.renderers import BaseRenderer


def render(data: Any) -> bytes:
    return orjson.dumps(data)


class JsonRenderer(BaseRenderer):
    """`application/json; charset=utf-8`, of the classic endpoints."""

    media_type = "application/json"
    format = "json"
    charset: str | None = "utf-8"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return render(data)


class NewerJsonRenderer(JsonRenderer):
    """`application/json` alone, of the newer endpoints."""

    charset = None


class PlainTextRenderer(JsonRenderer):
    """`text/plain; charset=utf-8`: text as it stands. Errors come as JSON all the same."""

    media_type = "text/plain"
    format = "text"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        return str(data).encode()
