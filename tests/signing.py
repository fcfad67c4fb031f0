"""Nodes with new keys, which sign what tests compose."""

from functools import cache

from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from mirror.demo.streams.signing import SigningNode


def signing_nodes(count: int) -> tuple[SigningNode, ...]:
    """Return nodes 0 to `count` - 1, with keys made once per process."""
    return tuple(map(_signing_node, range(count)))


@cache
def _signing_node(node_id: int) -> SigningNode:
    return SigningNode(node_id, _new_key())


def _new_key() -> bytes:
    """Return a new key (PEM), which takes up to a second to make."""
    key = rsa.generate_private_key(65537, 3072)
    return key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
