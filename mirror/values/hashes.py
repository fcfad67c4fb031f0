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


def keccak256(data: bytes) -> bytes:
    """Return the hash with the original Keccak padding that Ethereum uses, which is not SHA3-256."""
    digest: bytes = sha3.keccak_256(data).digest()
    return digest
