"""The parts of documented paths: their meaning and their form."""

import re
from typing import Any, NamedTuple

_PART = re.compile(r"\{(\w+)\}")

_PREFIX = "/api/v1/"

_NUM = r"(\d{1,5}\.){0,2}\d{1,12}"
_ADDRESS = "(0x)?[0-9a-fA-F]{40}"
_TRANSACTION_ID = r"\d{1,4}\.\d{1,5}\.\d{1,12}-\d{1,19}-\d{1,9}"


class _Part(NamedTuple):
    """`example` is something of the demo network, where requests can be tried out as they are shown."""

    help: str
    pattern: str
    example: str


_ACCOUNT = _Part("Id, alias or EVM address of an account.", rf"^({_NUM}|{_ADDRESS}|[A-Z2-7]+)$", "0.0.1001")
_TOPIC = _Part("Id of the topic.", rf"^{_NUM}$", "0.0.1066")

# A name stands for one thing, except where the kind of endpoint before it decides.
_PARTS: dict[str | tuple[str, str], _Part] = {
    ("accounts", "id"): _ACCOUNT,
    ("topics", "id"): _TOPIC,
    "contractIdOrAddress": _Part("Id or EVM address of a contract.", rf"^({_NUM}|{_ADDRESS})$", "0.0.1046"),
    "hashOrNumber": _Part(
        "Number of the block, its hash, or the first 32 bytes of its hash.",
        r"^(\d{1,19}|(0x)?([0-9a-fA-F]{64}|[0-9a-fA-F]{96}))$",
        "1",
    ),
    "hookId": _Part("Id of the hook.", r"^\d{1,19}$", "1"),
    "idOrAliasOrEvmAddress": _ACCOUNT,
    "ownerId": _ACCOUNT,
    "scheduleId": _Part("Id of the schedule.", rf"^{_NUM}$", "0.0.1050"),
    "sequenceNumber": _Part("Number of the message in its topic.", r"^\d{1,19}$", "1"),
    "serialNumber": _Part("Serial number.", r"^\d{1,19}$", "1"),
    "timestamp": _Part("Consensus timestamp.", r"^\d{1,10}(\.\d{1,9})?$", "1735765202.574704417"),
    "tokenId": _Part("Id or EVM address of the token.", rf"^({_NUM}|{_ADDRESS})$", "0.0.1075"),
    "topicId": _TOPIC,
    "transactionId": _Part("Transaction id.", rf"^{_TRANSACTION_ID}$", "0.0.1001-1735765199-539869952"),
    ("transactions", "transactionIdOrHash"): _Part(
        "Transaction id, or hash in hex or base64.",
        rf"^({_TRANSACTION_ID}|(0x)?[0-9a-fA-F]{{96}}|[A-Za-z0-9_-]{{64}})$",
        "0.0.1001-1735765199-539869952",
    ),
    ("contracts", "transactionIdOrHash"): _Part(
        "Transaction id, or hash in hex.",
        rf"^({_TRANSACTION_ID}|(0x)?[0-9a-fA-F]{{64}}|(0x)?[0-9a-fA-F]{{96}})$",
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
        "schema": {"type": "string", "pattern": part.pattern},
        "example": example,
    }
