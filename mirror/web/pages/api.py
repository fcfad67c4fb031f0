"""GET /api/v1/docs/: every request of the API, with a form that sends it. The page is cached.

Its source is the API's OpenAPI description. Swagger UI, two megabytes of scripts, is at swagger/.
"""

import json
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from mirror.node.health.status import code_html
from mirror.web.pages import answer

Schema = Mapping[str, Any]

# An object in itself, as keys are, is shown so often; more choices than these are no help.
_DEEPEST, _MAX_CHOICES = 6, 12


_MAX_AGE_SECONDS = 60

#: What the template of the page shows, by name.
Shown = dict[str, Any]


@require_safe
def api(request: HttpRequest) -> HttpResponse:
    return answer.page(_html(), max_age=_MAX_AGE_SECONDS)


@require_safe
def swagger(request: HttpRequest) -> HttpResponseBase:
    """Return Swagger UI. Its files are those of an installed package; no other host is requested."""
    # Its module imports those of the description.
    from drf_spectacular.views import SpectacularSwaggerSplitView

    response: HttpResponseBase = SpectacularSwaggerSplitView.as_view(url="../openapi.json")(request)
    for name, value in answer.SWAGGER_HEADERS.items():
        response.headers[name] = value
    return response


@cache
def _html() -> str:
    return answer.html("api.html", {"subjects": subjects()})


def document() -> Mapping[str, Any]:
    # The description and its libraries are loaded only when someone asks for it.
    from mirror.core.rest.schema import description

    return description.document()


def subjects() -> list[Shown]:
    """Return all requests, in the order of the description's tags."""
    return [
        {"name": tag["name"], "description": tag["description"], "requests": list(_tag_requests(tag["name"]))}
        for tag in document()["tags"]
    ]


def _tag_requests(tag: str) -> Iterator[Shown]:
    for path, operations in document()["paths"].items():
        for method, operation in operations.items():
            if tag in operation["tags"]:
                yield {"method": method.upper(), "path": path, **_request(operation)}


def _request(operation: Schema) -> Shown:
    content: Schema = operation.get("requestBody", {}).get("content", {})
    media_type = next(iter(content), "")
    examples = content[media_type].get("examples", {}) if content else {}
    (content_of_answer, *_) = operation["responses"]["200"]["content"].values()
    _, _, more = operation["description"].partition(". ")
    return {
        "id": operation["operationId"],
        "summary": operation["summary"],
        "description": code_html(more),
        "fields": [_field(each) for each in operation.get("parameters", ())],
        "media_type": media_type,
        "bodies": [{"name": name, "text": _body(example["value"])} for name, example in examples.items()],
        "answer": shape(content_of_answer["schema"]),
        "statuses": [(status, each["description"]) for status, each in operation["responses"].items()],
    }


def _field(parameter: Schema) -> Shown:
    """Return a parameter in a form: `value` is what it begins with, `note` what may be given."""
    schema: Schema = parameter["schema"]
    notes = []
    if "default" in schema and schema["default"] != "":
        notes.append(f"{_text(schema['default'])} unless given")
    if "maximum" in schema:
        notes.append(f"at most {schema['maximum']:,}")
    if schema["type"] == "array":
        operators = schema["items"].get("pattern", "").startswith("^((eq|")
        notes.append("may have gt:, gte:, lt:, lte:, ne: before it" if operators else "may be repeated")
    return {
        "name": parameter["name"],
        "help": parameter["description"],
        "in_path": parameter["in"] == "path",
        "value": parameter.get("example", ""),
        "choices": ("true", "false") if schema["type"] == "boolean" else schema.get("enum", ()),
        "note": "; ".join(notes),
    }


def _body(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, indent=2)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


# SHAPES
def shape(schema: Schema, indent: str = "", deep: int = 0) -> str:
    """Return the form of JSON that a schema describes, as text for people."""
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return shape(document()["components"]["schemas"][name], indent, deep)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(shape(each, indent, deep) for each in schema["anyOf"]))
    kind = schema.get("type", "anything")
    if kind == "array":
        return f"[{shape(schema['items'], indent, deep)}, …]"
    if kind == "object" and "properties" in schema:
        if deep == _DEEPEST:
            return "{…}"
        inner = f"{indent}  "
        members = (
            f"{inner}{name}: {shape(each, inner, deep + 1)}" for name, each in schema["properties"].items()
        )
        return "{{\n{}\n{}}}".format("\n".join(members), indent)
    if "enum" in schema and len(schema["enum"]) <= _MAX_CHOICES:
        return " or ".join("null" if each is None else json.dumps(each) for each in schema["enum"])
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
