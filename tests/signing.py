"""Nodes which sign what tests compose."""

from functools import cache

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mirror.demo.keys.nodes import nodes
from mirror.demo.streams.signing import SigningNode

# In another order, so that no node of a test has the key of the demo's node of its number.
_KEYS = [node.private_key for node in reversed(nodes())]


def signing_nodes(count: int) -> tuple[SigningNode, ...]:
    """Return nodes 0 to `count` - 1: with keys of the demo, which are at hand, and new ones beyond these."""
    return tuple(map(_signing_node, range(count)))


@cache
def _signing_node(node_id: int) -> SigningNode:
    return SigningNode(node_id, _KEYS[node_id] if node_id < len(_KEYS) else _new_key())


def _new_key() -> bytes:
    """Return a new key (PEM), which takes up to a second to make."""
    key = rsa.generate_private_key(65537, 3072)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
