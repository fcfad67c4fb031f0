"""The ledger's two hash functions: SHA-384 for files, blocks and transactions, keccak-256 for the EVM."""

import os
from hashlib import sha384 as _sha384

try:
    from tiny_keccak import keccak256 as keccak256
except ImportError:
    from Crypto.Hash import keccak

    def keccak256(input: bytes) -> bytes:
        """Return the hash with the original Keccak padding of Ethereum, which is not SHA3-256."""
        return keccak.new(data=input, digest_bits=256).digest()


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
