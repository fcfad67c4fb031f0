"""The ledger's two hash functions: SHA-384 for files, blocks, transactions; keccak-256 for the EVM."""

from hashlib import sha384 as _sha384

import sha3

SHA_384_LENGTH = 48


def sha384(data: bytes) -> bytes:
    return _sha384(data).digest()


def keccak256(data: bytes) -> bytes:
    """The original Keccak padding as Ethereum uses it, not SHA3-256."""
    digest: bytes = sha3.keccak_256(data).digest()
    return digest
