"""Generated clients read every operation of the demo ledger."""

import importlib
import json
import pkgutil
import re
import shutil
import subprocess
import sys
import urllib.error
import urllib.request
from io import BytesIO
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from openapi_spec_validator import OpenAPIV31SpecValidator

from mirror.core.rest.schema.description import document
from tests.contract import clients
from tests.contract.clients import Request
from tests.node import Node
from tests.waiting import PATIENCE_SECONDS

TYPESCRIPT = Path(__file__).with_name("typescript")
# The generator knows bytes by this type only, and sends the original one.
_GENERATOR_SETTINGS = """
post_hooks: []
content_type_overrides:
  application/protobuf: application/octet-stream
  application/x-protobuf: application/octet-stream
"""


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


# PYTHON
def test_a_generated_python_client_reads_every_operation_of_the_demo(node, tables, tmp_path, monkeypatch):
    clients.start(node)
    requests = [*clients.requests(node)]
    modules = generated(clients.description(node), tmp_path, monkeypatch)
    assert modules.keys() == {module_name(request.id) for request in requests}

    client = importlib.import_module("generated").Client(f"http://127.0.0.1:{node.port}")
    succeeded = set()
    for request in requests:
        module = modules[module_name(request.id)]
        answer = module.sync_detailed(*request.parts.values(), client=client, **body(module, request))
        assert answer.parsed is not None, (request, answer)
        assert answer.parsed.to_dict() == json.loads(answer.content), request
        if answer.status_code == 200:
            succeeded.add(request.id)
    assert succeeded == {request.id for request in requests}


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


# TYPESCRIPT
def test_a_generated_typescript_client_reads_every_operation_of_the_demo(node, tables, tmp_path):
    """Its types are those of each request and each answer."""
    install_packages(tmp_path)
    clients.start(node)
    (tmp_path / "openapi.json").write_text(json.dumps(clients.description(node)))
    run(["node_modules/.bin/openapi-typescript", "openapi.json", "--output", "schema.d.ts"], tmp_path)
    requests = [*clients.requests(node)]
    answers = [received(node, request) for request in requests]
    assert {one.id for one, (status, _) in zip(requests, answers, strict=True) if status == 200} == {
        request.id for request in requests
    }
    (tmp_path / "answers.ts").write_text(typed_answers(requests, answers))
    (tmp_path / "requests.ts").write_text(program(node, requests))

    run(["node_modules/.bin/tsc"], tmp_path)

    # JavaScript's numbers are floats.
    read = json.loads(run(["node", "built/requests.js"], tmp_path), parse_int=float)
    assert read == [json.loads(answer, parse_int=float) for _, answer in answers]


def install_packages(folder: Path) -> None:
    if shutil.which("npm") is None:
        pytest.skip("npm is not installed")
    shutil.copytree(TYPESCRIPT, folder, dirs_exist_ok=True)
    command = ["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    if re.search("ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENOTCACHED", done.stderr):
        pytest.skip("the registry of npm can't be reached")
    assert done.returncode == 0, done.stderr


def received(node: Node, request: Request) -> tuple[int, str]:
    sent = urllib.request.Request(f"http://127.0.0.1:{node.port}{request.url}", method=request.method.upper())
    if request.media_type:
        sent.data = request.sent
        sent.add_header("Content-Type", request.media_type)
    try:
        with urllib.request.urlopen(sent, timeout=PATIENCE_SECONDS) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


def typed_answers(requests: list[Request], answers: list[tuple[int, str]]) -> str:
    """Return a program that is right if each answer is of the type of its status."""
    lines = ['import type { paths } from "./schema.js";']
    for number, (request, (status, answer)) in enumerate(zip(requests, answers, strict=True)):
        operation = f'paths["{request.path}"]["{request.method}"]'
        kind = f'{operation}["responses"][{status}]["content"]["application/json"]'
        lines.append(f"export const answer{number}: {kind} = {answer};")
    return "\n".join(lines)


def program(node: Node, requests: list[Request]) -> str:
    """Return a program that sends the requests and prints the list of answers that it reads."""
    lines = [
        'import createClient from "openapi-fetch";',
        'import type { paths } from "./schema.js";',
        f'const client = createClient<paths>({{ baseUrl: "http://127.0.0.1:{node.port}" }});',
        "const read: unknown[] = [];",
    ]
    for request in requests:
        options = []
        if request.parts:
            options.append(f"params: {{ path: {json.dumps(request.parts)} }}")
        if request.body is not None:
            options.append(f"body: {json.dumps(request.body)}")
        if isinstance(request.body, str):
            options.append(f'bodySerializer: String, headers: {{ "content-type": "{request.media_type}" }}')
        call = f"client.{request.method.upper()}({json.dumps(request.path)}, {{ {', '.join(options)} }})"
        lines.append(f"{{ const {{ data, error }} = await {call}; read.push(data ?? error); }}")
    return "\n".join([*lines, "console.log(JSON.stringify(read));"])


def run(command: list[str | Path], folder: Path) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
