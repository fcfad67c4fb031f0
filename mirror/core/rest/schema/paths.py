"""The parts of documented paths: their meaning and their form."""

import re
from typing import Any, NamedTuple

_PART = re.compile(r"\{(\w+)\}")

_PREFIX = "/api/v1/"

_SHARD_AND_REALM = r"(\d{1,5}\.){0,2}"
_NUM = rf"{_SHARD_AND_REALM}\d{{1,12}}"
_ADDRESS = rf"(0x|{_SHARD_AND_REALM})[0-9a-fA-F]{{40}}"
_ALIAS = rf"{_SHARD_AND_REALM}[A-Z2-7]+"
_TRANSACTION_ID = r"\d{1,4}\.\d{1,5}\.\d{1,12}-\d{1,19}-\d{1,9}"


class _Part(NamedTuple):
    """`example` is something of the demo network, where requests can be tried out as they are shown."""

    help: str
    schema: dict[str, Any]
    example: str | int


def _text(help: str, pattern: str, example: str) -> _Part:
    return _Part(help, {"type": "string", "pattern": f"^({pattern})$"}, example)


def _number(help: str, low: int) -> _Part:
    return _Part(help, {"type": "integer", "format": "int64", "minimum": low}, 1)


_ACCOUNT = _text("Id, alias or EVM address of an account.", f"{_NUM}|{_ADDRESS}|{_ALIAS}", "0.0.1001")
_TOPIC = _text("Id of the topic.", _NUM, "0.0.1066")

# A name stands for one thing, except where the kind of endpoint before it decides.
_PARTS: dict[str | tuple[str, str], _Part] = {
    ("accounts", "id"): _ACCOUNT,
    ("topics", "id"): _TOPIC,
    "contractIdOrAddress": _text("Id or EVM address of a contract.", f"{_NUM}|{_ADDRESS}", "0.0.1046"),
    "hashOrNumber": _text(
        "Number of the block, its hash, or the first 32 bytes of its hash.",
        r"\d{1,19}|(0x)?([0-9a-fA-F]{64}|[0-9a-fA-F]{96})",
        "1",
    ),
    "hookId": _number("Id of the hook.", 0),
    "idOrAliasOrEvmAddress": _ACCOUNT,
    "ownerId": _ACCOUNT,
    "scheduleId": _text("Id of the schedule.", _NUM, "0.0.1050"),
    "sequenceNumber": _number("Number of the message in its topic.", 1),
    "serialNumber": _number("Serial number.", 1),
    "timestamp": _text("Consensus timestamp.", r"\d{1,10}(\.\d{1,9})?", "1735765202.574704417"),
    "tokenId": _text("Id or EVM address of the token.", f"{_NUM}|{_ADDRESS}", "0.0.1075"),
    "topicId": _TOPIC,
    "transactionId": _text("Transaction id.", _TRANSACTION_ID, "0.0.1001-1735765199-539869952"),
    ("transactions", "transactionIdOrHash"): _text(
        "Transaction id, or hash in hex or base64.",
        rf"{_TRANSACTION_ID}|(0x)?[0-9a-fA-F]{{96}}|[A-Za-z0-9+/_-]{{64}}",
        "0.0.1001-1735765199-539869952",
    ),
    ("contracts", "transactionIdOrHash"): _text(
        "Transaction id, or hash in hex.",
        rf"{_TRANSACTION_ID}|(0x)?[0-9a-fA-F]{{64}}|(0x)?[0-9a-fA-F]{{96}}",
        "0.0.1022-1735765198-305272471",
    ),
}

# (Documented path below the prefix, name) -> the example there, where the one above would find nothing.
_EXAMPLES = {
    ("accounts/{id}/airdrops/outstanding", "id"): "0.0.1008",
    ("accounts/{id}/airdrops/pending", "id"): "0.0.1280",
    ("accounts/{id}/allowances/nfts", "id"): "0.0.1038",
    ("accounts/{ownerId}/hooks", "ownerId"): "0.0.1147",
    ("accounts/{ownerId}/hooks/{hookId}/storage", "ownerId"): "0.0.1147",
    ("tokens/{tokenId}/nfts", "tokenId"): "0.0.1144",
    ("tokens/{tokenId}/nfts/{serialNumber}", "tokenId"): "0.0.1144",
    ("tokens/{tokenId}/nfts/{serialNumber}/transactions", "tokenId"): "0.0.1144",
    ("topics/messages/{timestamp}", "timestamp"): "1735765231.824056897",
}


def names(path: str) -> list[str]:
    """Return the names of the parts of `/api/v1/...`."""
    return _PART.findall(path)


def parameter(path: str, name: str) -> dict[str, Any]:
    below = path.removeprefix(_PREFIX)
    part = _PARTS.get((below.split("/")[0], name)) or _PARTS[name]
    example = _EXAMPLES.get((below, name), part.example)
    return {
        "name": name,
        "in": "path",
        "required": True,
        "description": part.help,
        "schema": dict(part.schema),
        "example": example,
    }
