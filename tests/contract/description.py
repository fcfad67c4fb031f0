"""Every answer that a test gets is as the API's description says: no member missing, none unknown."""

from functools import cache
from typing import TYPE_CHECKING, Any

import jsonschema_rs

from mirror.core.rest.schema.description import document

if TYPE_CHECKING:
    from tests.api import Answer

_NOT_MODIFIED, _SERVER_ERROR = 304, 500


def check(route: str, method: str, url: str, answer: "Answer") -> None:
    # Endpoints that are switched off are not described.
    operation = document()["paths"].get(f"/api/v1/{route}", {}).get(method.lower())
    if operation is None or answer.status == _NOT_MODIFIED or "content-encoding" in answer.headers:
        return
    described = operation["responses"].get(str(answer.status))
    if described is None:
        assert answer.status >= _SERVER_ERROR, f"{url} answers {answer.status}, which is not described."
        return
    media_type = answer.headers["content-type"].partition(";")[0]
    assert media_type in described["content"], f"{url} answers in {media_type}, which is not described."
    body = answer.json() if media_type == "application/json" else answer.body.decode()
    validator = _validator(route, method.lower(), answer.status, media_type)
    if not validator.is_valid(body):
        problems = [
            f"{'.'.join(map(str, error.instance_path))}: {error.message}"
            for error in validator.iter_errors(body)
        ]
        raise AssertionError(f"{url} answers otherwise than described:\n" + "\n".join(problems))


@cache
def _validator(route: str, method: str, status: int, media_type: str) -> Any:
    operation = document()["paths"][f"/api/v1/{route}"][method]
    schema = operation["responses"][str(status)]["content"][media_type]["schema"]
    # Endpoints that tests switch on have components that were not there before.
    names = frozenset(document()["components"]["schemas"])
    return jsonschema_rs.Draft202012Validator({**schema, "components": _strict_components(names)})


@cache
def _strict_components(names: frozenset[str]) -> dict[str, Any]:
    """The components, which have these names, without members that are not described."""
    schemas = document()["components"]["schemas"]
    return {"schemas": {name: {**schema, "additionalProperties": False} for name, schema in schemas.items()}}
