"""The parts of documented paths: their meaning and their form."""

import re
from typing import Any, NamedTuple

_PART = re.compile(r"\{(\w+)\}")

_NUM = r"(\d{1,5}\.){0,2}\d{1,12}"
_ADDRESS = "(0x)?[0-9a-fA-F]{40}"
_TRANSACTION_ID = r"\d{1,4}\.\d{1,5}\.\d{1,12}-\d{1,19}-\d{1,9}"


class _Part(NamedTuple):
    help: str
    pattern: str
    example: str


_ACCOUNT = _Part("Id, alias or EVM address of an account.", rf"^({_NUM}|{_ADDRESS}|[A-Z2-7]+)$", "0.0.1001")
_TOPIC = _Part("Id of the topic.", rf"^{_NUM}$", "0.0.2001")

# A name stands for one thing, except where the kind of endpoint before it decides.
_PARTS: dict[str | tuple[str, str], _Part] = {
    ("accounts", "id"): _ACCOUNT,
    ("topics", "id"): _TOPIC,
    "contractIdOrAddress": _Part("Id or EVM address of a contract.", rf"^({_NUM}|{_ADDRESS})$", "0.0.1001"),
    "hashOrNumber": _Part(
        "Number of the block, its hash, or the first 32 bytes of its hash.",
        r"^(\d{1,19}|(0x)?([0-9a-fA-F]{64}|[0-9a-fA-F]{96}))$",
        "1",
    ),
    "hookId": _Part("Id of the hook.", r"^\d{1,19}$", "1"),
    "idOrAliasOrEvmAddress": _ACCOUNT,
    "ownerId": _ACCOUNT,
    "scheduleId": _Part("Id of the schedule.", rf"^{_NUM}$", "0.0.3001"),
    "sequenceNumber": _Part("Number of the message in its topic.", r"^\d{1,19}$", "1"),
    "serialNumber": _Part("Serial number.", r"^\d{1,19}$", "1"),
    "timestamp": _Part("Consensus timestamp.", r"^\d{1,10}(\.\d{1,9})?$", "1700000000.000000001"),
    "tokenId": _Part("Id or EVM address of the token.", rf"^({_NUM}|{_ADDRESS})$", "0.0.4001"),
    "topicId": _TOPIC,
    ("transactions", "transactionIdOrHash"): _Part(
        "Transaction id, or hash in hex or base64.",
        rf"^({_TRANSACTION_ID}|(0x)?[0-9a-fA-F]{{96}}|[A-Za-z0-9_-]{{64}})$",
        "0.0.1001-1700000000-000000001",
    ),
    ("contracts", "transactionIdOrHash"): _Part(
        "Transaction id, or hash in hex.",
        rf"^({_TRANSACTION_ID}|(0x)?[0-9a-fA-F]{{64}}|(0x)?[0-9a-fA-F]{{96}})$",
        "0.0.1001-1700000000-000000001",
    ),
}


def names(path: str) -> list[str]:
    """Return the names of the parts of `/api/v1/...`."""
    return _PART.findall(path)


def parameter(path: str, name: str) -> dict[str, Any]:
    """Describe a part of the path for OpenAPI."""
    kind = path.split("/")[3]
    part = _PARTS.get((kind, name)) or _PARTS[name]
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": part.help,
        "schema": {"type": "string", "pattern": part.pattern, "examples": [part.example]},
    }
