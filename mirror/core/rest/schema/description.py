"""The OpenAPI description of the API, by drf-spectacular.

Parameters come from the parameter sets, answers from the TypedDicts that views declare as `answers`. This
module is imported only when the description is wanted: no other request needs it.
"""

import json
import re
import types
import typing
from collections.abc import Mapping
from functools import cache
from http import HTTPStatus
from importlib import import_module
from typing import Annotated, Any, NotRequired, TypedDict, Union, get_args, get_origin

import yaml
from django.conf import settings
from django.urls import URLPattern
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.openapi import AutoSchema
from drf_spectacular.plumbing import ResolvedComponent, resolve_type_hint

from mirror.core import config
from mirror.core.rest.answers.errors import reason_phrase
from mirror.core.rest.routes import PREFIX, view_of, views
from mirror.core.rest.schema import paths
from mirror.core.rest.views import PostedBody, ReadView, SpringReadView
from mirror.core.values.json_types import SchemaMetadata

Schema = dict[str, Any]

_JSON = "application/json"
_FAILURES = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.SERVICE_UNAVAILABLE,
)
_CLASSIC_FAILURES = (*_FAILURES, HTTPStatus.UNAUTHORIZED)
_SPRING_FAILURES = (*_FAILURES, HTTPStatus.METHOD_NOT_ALLOWED)
_USERS = "users"
_BODY_FAILURES = (HTTPStatus.REQUEST_ENTITY_TOO_LARGE, HTTPStatus.UNSUPPORTED_MEDIA_TYPE)


# In the order that suits a newcomer: the first part of a path -> what it is about.
_TAGS = {
    "accounts": "Accounts: balances, tokens, NFTs, allowances, rewards, airdrops, hooks.",
    "transactions": "Transactions, with all their transfers.",
    "tokens": "Fungible tokens and NFTs, and who holds them.",
    "topics": "Topics and their messages.",
    "contracts": "Contracts: their code and state, what their calls did, and calls that are only simulated.",
    "schedules": "Transactions that wait for signatures.",
    "blocks": "Blocks: one for each record file.",
    "balances": "Balances of all accounts, now or at a time.",
    "network": "The network itself: nodes, stakes, supply, exchange rates, fees.",
}
_OLDER_TAGS = {"schedule": "schedules"}


# ERRORS
class ClassicProblemJson(TypedDict):
    message: str
    detail: NotRequired[str]


class ClassicStatusJson(TypedDict):
    messages: list[ClassicProblemJson]


class ErrorJson(TypedDict):
    """What is wrong with a request, one entry per problem."""

    _status: ClassicStatusJson


class SpringProblemJson(TypedDict):
    detail: NotRequired[str]
    message: str


class SpringStatusJson(TypedDict):
    messages: list[SpringProblemJson]


class ErrorWithDetailJson(TypedDict):
    """A problem of a request.

    `detail` explains it, and `message` is the name of the status; without `detail`, `message` explains it.
    """

    _status: SpringStatusJson


# TYPES
def component_name(shape: type) -> str:
    return shape.__name__.removesuffix("Json")


def to_schema(hint: Any, components: dict[str, Schema]) -> Schema:
    """Return the JSON schema of a type. TypedDicts are added to `components`, and referred to.

    drf-spectacular resolves plain types. It would write TypedDicts in place, and drop what Annotated adds.
    None stands for anything.
    """
    origin, arguments = get_origin(hint), get_args(hint)
    if hint is None:
        return {}
    if origin is Annotated:
        return to_schema(arguments[0], components) | _members(arguments[1])
    if origin is NotRequired:
        return to_schema(arguments[0], components)
    if origin is list:
        return {"type": "array", "items": to_schema(arguments[0], components)}
    if origin is dict:
        return {"type": "object", "additionalProperties": to_schema(arguments[1], components)}
    if origin in (Union, types.UnionType):
        return _either([to_schema(argument, components) for argument in arguments])
    if typing.is_typeddict(hint):
        return _object(hint, components)
    if hint is bytes:
        # OpenAPI 3.1 has contentMediaType for bytes, and generators of clients know them by `format` only.
        return {"type": "string", "format": "binary", "contentMediaType": "application/octet-stream"}
    if hint is type(None):
        return {"type": "null"}
    resolved: Schema = resolve_type_hint(hint)  # type: ignore[no-untyped-call]
    return resolved


def _members(metadata: SchemaMetadata) -> Schema:
    members = {name: value for name, value in metadata._asdict().items() if value is not None}
    if "example" in members:
        members["examples"] = [members.pop("example")]
    return members


def _either(schemas: list[Schema]) -> Schema:
    """Return one schema for a plain type or null, and a choice for everything else.

    A null among the words of an enumeration would be a word of its own to generators of clients.
    """
    null = {"type": "null"}
    others = [schema for schema in schemas if schema != null]
    if len(others) == 1 and isinstance(others[0].get("type"), str) and "enum" not in others[0]:
        (other,) = others
        return other | {"type": [other["type"], "null"]}
    return {"anyOf": schemas}


def _object(shape: Any, components: dict[str, Schema]) -> Schema:
    name = component_name(shape)
    if name not in components:
        schema = components[name] = {"type": "object"}
        if shape.__doc__ and not shape.__doc__.startswith("dict("):
            schema["description"] = shape.__doc__
        hints = typing.get_type_hints(shape, include_extras=True)
        if "links" in hints:
            hints["links"] = hints.pop("links")
        schema["properties"] = {member: to_schema(hint, components) for member, hint in hints.items()}
        # With annotations that are strings, as in a compiled module, a TypedDict takes all for required.
        schema["required"] = [
            member
            for member, hint in hints.items()
            if member in shape.__required_keys__ and get_origin(hint) is not NotRequired
        ]
    return {"$ref": f"#/components/schemas/{name}"}


# OPERATIONS
class EndpointSchema(AutoSchema):
    @property
    def _endpoint(self) -> ReadView:
        assert isinstance(self.view, ReadView)
        return self.view

    @property
    def _posted(self) -> PostedBody | None:
        return self._endpoint.posted if self.method == "POST" else None

    def get_operation_id(self) -> str:
        parts = re.findall(r"\w+", self.path.removeprefix(f"/{PREFIX}"))
        return "_".join([self.method.lower(), *parts])

    def get_tags(self) -> list[str]:
        first = self.path.removeprefix(f"/{PREFIX}").split("/")[0]
        return [_OLDER_TAGS.get(first, first)]

    def get_summary(self) -> str:
        """Return the first sentence: what the request is for."""
        return self.get_description().partition(". ")[0].removesuffix(".")

    def get_description(self) -> str:  # type: ignore[override]
        endpoint = self._endpoint
        described = endpoint if self._posted is None else getattr(endpoint, endpoint.actions["post"])
        return " ".join((described.__doc__ or "").split())

    def get_auth(self) -> list[Schema]:
        return [] if isinstance(self._endpoint, SpringReadView) else [{}, {_USERS: []}]

    def _get_parameters(self) -> list[Schema]:
        posted = self._posted
        parameters = self._endpoint.parameters if posted is None else posted.parameters
        in_path = [paths.parameter(self.path, name) for name in paths.names(self.path)]
        return [*in_path, *parameters.described()]

    def _get_request_body(self, direction: Any = "request") -> Schema | None:
        if (posted := self._posted) is None:
            return None
        body = {"schema": self._component(posted.body)}
        if posted.examples:
            body["examples"] = {name: {"value": value} for name, value in posted.examples.items()}
        return {"required": True, "content": dict.fromkeys(posted.media_types, body)}

    def _get_response_bodies(self, direction: Any = "response") -> Schema:
        posted = self._posted
        answers = self._endpoint.answers if posted is None else posted.answers
        if not isinstance(answers, Mapping):
            answers = {_JSON: answers}
        is_spring = isinstance(self._endpoint, SpringReadView)
        failures: tuple[HTTPStatus, ...] = _SPRING_FAILURES if is_spring else _CLASSIC_FAILURES
        failures = self._endpoint.failures or failures
        error = self._endpoint.error or (ErrorWithDetailJson if is_spring else ErrorJson)
        if posted is not None:
            failures = posted.failures or (*failures, *_BODY_FAILURES)
            error = posted.error or error
        bodies: Schema = {
            "200": {
                "description": "Success",
                "content": {name: {"schema": self._component(shape)} for name, shape in answers.items()},
            }
        }
        if posted is None:
            bodies["304"] = {"description": "The client has the answer: If-None-Match names its ETag"}
        for status in sorted(failures):
            shape = error
            if error is not ErrorJson and status is HTTPStatus.NOT_FOUND and paths.names(self.path):
                # A part of the path that can't be one makes it a path that is none of the API.
                shape = error | ErrorJson
            content = {_JSON: {"schema": self._component(shape)}}
            bodies[str(status.value)] = {"description": reason_phrase(status), "content": content}
        return bodies

    def _component(self, shape: Any) -> Schema:
        """Return the schema of a type, and register the components that it needs."""
        components: dict[str, Schema] = {}
        resolved = to_schema(shape, components)
        for name, schema in components.items():
            component = ResolvedComponent(name, ResolvedComponent.SCHEMA, schema, name)  # type: ignore[no-untyped-call]
            self.registry.register_on_missing(component)
            if self.registry[component].schema != schema:
                raise TypeError(f"Two answers are called {name}Json: give one of them another name.")
        return resolved


class Generator(SchemaGenerator):
    def _initialise_endpoints(self) -> None:
        self.endpoints: list[Any] = [
            (f"/{PREFIX}{each.name}", str(each.pattern), method.upper(), each.callback)
            for each in _routes()
            if _is_on(view_of(each))
            # Not the callback's own mapping, to which its first request adds HEAD.
            for method in view_of(each).actions
        ]


def _is_on(view: type[ReadView]) -> bool:
    return not view.enabled_by or bool(config.value(view.enabled_by))


def document() -> Schema:
    return _document(tuple(map(_is_on, _views().values())))


def switches() -> dict[str, str]:
    """Return the settings that switch endpoints on, by the path of the endpoint; others are always on."""
    return {f"/{PREFIX}{path}": view.enabled_by for path, view in _views().items() if view.enabled_by}


def _views() -> Mapping[str, type[ReadView]]:
    """Return the views of all endpoints, those that are switched off, too, by documented path."""
    return views(_routes())


def _routes() -> list[URLPattern]:
    # The root of all routes imports the views, which describe themselves here.
    found: list[URLPattern] = import_module(settings.ROOT_URLCONF).ROUTES
    return found


@cache
def _document(views_on: tuple[bool, ...]) -> Schema:
    schema = Generator().get_schema(public=True)  # type: ignore[no-untyped-call]
    schema["components"]["securitySchemes"] = {
        _USERS: {
            "type": "http",
            "scheme": "basic",
            "description": "For users of this node, whose pages have another largest size.",
        }
    }
    schema["tags"] = [{"name": name, "description": text} for name, text in _TAGS.items()]
    plain: Schema = json.loads(json.dumps(schema))
    return plain


def as_json() -> bytes:
    return json.dumps(document(), separators=(",", ":")).encode()


def as_yaml() -> bytes:
    text: str = yaml.dump(document(), Dumper=yaml.CSafeDumper, sort_keys=False, allow_unicode=True, width=100)
    return text.encode()
