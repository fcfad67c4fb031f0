"""The ledger's two hash functions: SHA-384 for files, blocks and transactions, keccak-256 for the EVM."""

import os
from hashlib import sha384 as _sha384

import sha3

# py-evm takes the first keccak it finds unless this is set before it hashes, and the others are six times
# slower. All code that runs an EVM imports this module.
os.environ["ETH_HASH_BACKEND"] = "pysha3"

SHA_384_LENGTH = 48


def sha384(data: bytes) -> bytes:
    return _sha384(data).digest()


def describe_difference(one: str, other: str, length: int = 16) -> tuple[str, str]:
    """Return pieces of two hashes (hex), each with the first digit that differs: two may begin alike."""
    same = len(os.path.commonprefix((one, other)))
    start = 0 if same < length else max(0, min(same - length // 2, len(one) - length))
    pieces = (f"{'…' if start else ''}{each[start : start + length]}" for each in (one, other))
    first, second = (f"{piece}{'…' if start + length < len(one) else ''}" for piece in pieces)
    return first, second


def keccak256(data: bytes) -> bytes:
    """Return the hash with the original Keccak padding that Ethereum uses, which is not SHA3-256."""
    digest: bytes = sha3.keccak_256(data).digest()
    return digest
