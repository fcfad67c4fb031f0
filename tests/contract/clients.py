"""The requests that generated clients send to the demo ledger: every operation of the description.

Parts of paths and bodies are its examples.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.node import Node

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
