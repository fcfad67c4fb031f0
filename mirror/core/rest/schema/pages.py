"""Below /api/v1/docs/: the description of the API as a document in JSON or YAML.

It is made at the first request for it, and cached. `mirror.web.pages.api` shows it as a page.
"""

from functools import cache
from typing import Any, ClassVar

from django.urls import URLPattern, re_path
from rest_framework.response import Response

from mirror.core.rest.answers.errors import Failure, WrongMethod, classic_envelope
from mirror.core.rest.answers.response import JsonRenderer
from mirror.core.rest.parameters.parameter_set import NoParameters
from mirror.core.rest.views import ReadView


class _Bytes(JsonRenderer):
    """Sends the bytes that a view returns as they are."""

    @staticmethod
    def encode(data: Any) -> bytes:
        return bytes(data)


class _Yaml(_Bytes):
    media_type = "text/yaml"


class Document(ReadView):
    max_age = 60
    renderer: JsonRenderer = _Bytes()
    form: ClassVar[str] = "as_json"

    def read(self, parameters: NoParameters) -> Response:
        return Response(_document(self.form))

    def failed(self, failure: Failure) -> Response:
        """Answer as classic endpoints do, except that another method is a 405."""
        self.renderer = JsonRenderer()
        response = Response(classic_envelope(failure), failure.status)
        if isinstance(failure, WrongMethod):
            response.headers["allow"] = "GET, HEAD"
        return response


class YamlDocument(Document):
    renderer = _Yaml()
    form = "as_yaml"


@cache
def _document(form: str) -> bytes:
    # The description and its libraries are loaded only when someone asks for it.
    from mirror.core.rest.schema import description

    document: bytes = getattr(description, form)()
    return document


def routes() -> list[URLPattern]:
    return [
        re_path(r"^api/v1/docs/openapi\.json\Z", Document.as_view({"get": "retrieve"})),
        re_path(r"^api/v1/docs/openapi\.ya?ml\Z", YamlDocument.as_view({"get": "retrieve"})),
    ]
