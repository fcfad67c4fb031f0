"""The requests of the API as a page shows them, from the API's OpenAPI description."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mirror.core.rest.schema.description import document
from mirror.web.pages.answer import marked

Schema = Mapping[str, Any]

# An object in itself, as keys are, is shown so often; more choices than these are no help.
_DEEPEST, _MOST_CHOICES = 6, 12


@dataclass(frozen=True)
class Field:
    """A parameter in a form: `value` is what it begins with, `note` what may be given."""

    name: str
    help: str
    in_path: bool
    value: str
    choices: Sequence[str]
    note: str


@dataclass(frozen=True)
class Body:
    """A body that may be sent."""

    name: str
    text: str


@dataclass(frozen=True)
class Request:
    id: str
    method: str
    path: str
    summary: str
    description: str
    fields: Sequence[Field]
    media_type: str
    bodies: Sequence[Body]
    answer: str
    statuses: Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Subject:
    """Requests about one thing."""

    name: str
    description: str
    requests: Sequence[Request]


def subjects() -> list[Subject]:
    """Return all requests, in the order of the description's tags."""
    tags = document()["tags"]
    return [Subject(tag["name"], tag["description"], list(_of_tag(tag["name"]))) for tag in tags]


def _of_tag(tag: str) -> Iterator[Request]:
    for path, operations in document()["paths"].items():
        for method, operation in operations.items():
            if tag in operation["tags"]:
                yield _request(method, path, operation)


def _request(method: str, path: str, operation: Schema) -> Request:
    content: Schema = operation.get("requestBody", {}).get("content", {})
    media_type = next(iter(content), "")
    examples = content[media_type].get("examples", {}) if content else {}
    (answer, *_) = operation["responses"]["200"]["content"].values()
    _, _, more = operation["description"].partition(". ")
    return Request(
        operation["operationId"],
        method.upper(),
        path,
        operation["summary"],
        marked(more),
        [_field(each) for each in operation.get("parameters", ())],
        media_type,
        [Body(name, _body(example["value"])) for name, example in examples.items()],
        shape(answer["schema"]),
        [(status, each["description"]) for status, each in operation["responses"].items()],
    )


def _field(parameter: Schema) -> Field:
    schema: Schema = parameter["schema"]
    choices = ("true", "false") if schema["type"] == "boolean" else schema.get("enum", ())
    notes = []
    if "default" in schema and schema["default"] != "":
        notes.append(f"{_text(schema['default'])} unless given")
    if "maximum" in schema:
        notes.append(f"at most {schema['maximum']:,}")
    if schema["type"] == "array":
        operators = schema["items"].get("pattern", "").startswith("^((eq|")
        notes.append("may have gt:, gte:, lt:, lte:, ne: before it" if operators else "may be repeated")
    return Field(
        parameter["name"],
        parameter["description"],
        parameter["in"] == "path",
        parameter.get("example", ""),
        choices,
        "; ".join(notes),
    )


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
    if "enum" in schema and len(schema["enum"]) <= _MOST_CHOICES:
        return " or ".join("null" if each is None else json.dumps(each) for each in schema["enum"])
    return " or ".join(kind) if isinstance(kind, list) else str(kind)
