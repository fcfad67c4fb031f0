"""The nodes of the demo network, and what its transactions have said of nodes.

The first four sign the stream. Anyone can sign with their keys, which are published with the program
(node_keys.pem), so that the same seed gives the same signature files: they are fit for a demo alone.
"""

import re
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

from ledger.stream.signature.node_key import SigningNode

_KEYS = Path(__file__).parent / "node_keys.pem"
_KEY = re.compile(rb"-----BEGIN PRIVATE KEY-----.*?-----END PRIVATE KEY-----\n", re.DOTALL)


@cache
def nodes() -> tuple[SigningNode, ...]:
    """The nodes that sign the demo network's files: 0 to 3, with the accounts 0.0.3 to 0.0.6."""
    return tuple(SigningNode(place, key) for place, key in enumerate(_KEY.findall(_KEYS.read_bytes())))


@dataclass(slots=True)
class Node:
    """A node that a transaction created (table node). `admin_key` is a serialized Key.

    `proxy` is the (domain name, port) of its gRPC web proxy.
    """

    node_id: int
    created: int
    account: int
    admin_key: bytes
    description: str
    decline_reward: bool = False
    proxy: tuple[str, int] | None = None
    deleted: bool = False


@dataclass
class Nodes:
    """Nodes beyond those that sign, by their id."""

    by_id: dict[int, Node] = field(default_factory=dict)
    next_id: int = 4
