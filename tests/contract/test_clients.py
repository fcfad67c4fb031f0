"""A generated client reads every operation of the demo ledger; parts of paths and bodies are its examples."""

import importlib
import json
import pkgutil
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from mirror.core.rest.schema.description import document
from tests.node import Node

# The generator knows bytes by this type only, and sends the original one.
_GENERATOR_SETTINGS = """
post_hooks: []
content_type_overrides:
  application/protobuf: application/octet-stream
  application/x-protobuf: application/octet-stream
"""


#: The demo network's first blocks have what the examples name, but for the time of a message.
BLOCKS = "60"
_MESSAGES, _MESSAGE_AT = "/api/v1/topics/0.0.1066/messages", "/api/v1/topics/messages/{timestamp}"


@dataclass(frozen=True)
class Request:
    id: str
    tag: str
    method: str
    path: str
    #: Name -> value, in the order of the path.
    parts: dict[str, Any]
    media_type: str = ""
    body: Any = None

    @property
    def url(self) -> str:
        return self.path.format_map(self.parts)

    @property
    def sent(self) -> bytes:
        return self.body.encode() if isinstance(self.body, str) else json.dumps(self.body).encode()


def start(node: Node) -> None:
    """Start a node on the demo ledger, with the endpoints that are off by default."""
    node.start(SVC_MIRROR_DEMO_BLOCKS=BLOCKS, SVC_MIRROR_REST_STATEPROOF_ENABLED="true")


def description(node: Node) -> dict[str, Any]:
    described: dict[str, Any] = _json(node, "/api/v1/docs/openapi.json")
    return described


def requests(node: Node) -> Iterator[Request]:
    message_at = _json(node, _MESSAGES)["messages"][0]["consensus_timestamp"]
    for path, operations in description(node)["paths"].items():
        for method, operation in operations.items():
            parameters = operation.get("parameters", ())
            parts = {each["name"]: each["example"] for each in parameters if each["in"] == "path"}
            if path == _MESSAGE_AT:
                parts = {"timestamp": message_at}
            request = (operation["operationId"], operation["tags"][0], method, path, parts)
            contents = operation.get("requestBody", {"content": {}})["content"]
            if not contents:
                yield Request(*request)
            for media_type, content in contents.items():
                for example in content["examples"].values():
                    yield Request(*request, media_type, example["value"])


def _json(node: Node, path: str) -> Any:
    status, body = node.get(path)
    assert status == 200, (path, body)
    return json.loads(body)


def test_the_description_is_valid(all_endpoints):
    assert not [*OpenAPIV31SpecValidator(document()).iter_errors()]


def test_names_differ_by_more_than_case_and_underscores(all_endpoints):
    schemas = document()["components"]["schemas"]
    operations = [one for each in document()["paths"].values() for one in each.values()]
    scopes: list[list[str]] = [[*schemas], [one["operationId"] for one in operations]]
    scopes += [[*schema.get("properties", ())] for schema in schemas.values()]
    scopes += [[each["name"] for each in one.get("parameters", ())] for one in operations]
    for names in scopes:
        assert len({re.sub("[^a-z0-9]", "", name.lower()) for name in names}) == len(names), names


def test_operation_ids_and_components_are_identifiers(all_endpoints):
    operations = [one for each in document()["paths"].values() for one in each.values()]
    names = [*document()["components"]["schemas"], *(one["operationId"] for one in operations)]
    assert all(name.isidentifier() for name in names)


def test_a_generated_python_client_reads_every_operation_of_the_demo(node, tables, tmp_path, monkeypatch):
    start(node)
    sent = [*requests(node)]
    modules = generated(description(node), tmp_path, monkeypatch)
    assert modules.keys() == {module_name(request.id) for request in sent}

    client = importlib.import_module("generated").Client(f"http://127.0.0.1:{node.port}")
    succeeded = set()
    for request in sent:
        module = modules[module_name(request.id)]
        answer = module.sync_detailed(*request.parts.values(), client=client, **body(module, request))
        assert answer.parsed is not None, (request, answer)
        assert answer.parsed.to_dict() == json.loads(answer.content), request
        if answer.status_code == 200:
            succeeded.add(request.id)
    assert succeeded == {request.id for request in sent}


def generated(description: Any, folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """Generate the package `generated` and import all of it; return its modules of operations by name."""
    (folder / "openapi.json").write_text(json.dumps(description))
    (folder / "settings.yaml").write_text(_GENERATOR_SETTINGS)
    generator = Path(sys.executable).with_name("openapi-python-client")
    options = ["--path", "openapi.json", "--output-path", "generated", "--config", "settings.yaml"]
    run([generator, "generate", "--meta", "none", "--fail-on-warning", *options], folder)
    monkeypatch.syspath_prepend(folder)
    package = importlib.import_module("generated")
    names = [each.name for each in pkgutil.walk_packages(package.__path__, "generated.") if not each.ispkg]
    modules = {name: importlib.import_module(name) for name in names}
    return {
        name.rpartition(".")[2]: module
        for name, module in modules.items()
        if name.startswith("generated.api.")
    }


def module_name(operation_id: str) -> str:
    return re.sub("(?<=[a-z])(?=[A-Z])", "_", operation_id).lower()


def body(module: Any, request: Request) -> dict[str, Any]:
    if isinstance(request.body, str):
        file = importlib.import_module("generated.types").File
        return {"body": file(BytesIO(request.sent))}
    if request.body is None:
        return {}
    return {"body": get_type_hints(module.sync_detailed)["body"].from_dict(request.body)}


def run(command: list[str | Path], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
