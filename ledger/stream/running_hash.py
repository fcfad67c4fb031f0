"""Running hashes of formats 5 and 6: each transaction of a stream is hashed onto those before it."""

from collections.abc import Iterable
from struct import Struct

from ledger.stream.binary_reader import (
    HASH_CLASS_ID,
    HASH_CLASS_VERSION,
    RECORD_CLASS_ID,
    RECORD_CLASS_VERSION,
    SHA_384_DIGEST_TYPE,
)
from mirror.core.values.hashes import SHA_384_LENGTH, sha384

_RECORD_HEAD = Struct(">Qii")
_LENGTH = Struct(">i")
_HASH_HEAD = Struct(">QiIi").pack(HASH_CLASS_ID, HASH_CLASS_VERSION, SHA_384_DIGEST_TYPE, SHA_384_LENGTH)
# Where hashes are hashed, nodes write these numbers with the least significant byte first.
_HASHED_HEAD = Struct("<Qi").pack(HASH_CLASS_ID, HASH_CLASS_VERSION)


def stream_object(record_bytes: bytes, transaction_bytes: bytes) -> bytes:
    """Return a transaction with its record as format 5 has it, and as both formats hash it."""
    head = _RECORD_HEAD.pack(RECORD_CLASS_ID, RECORD_CLASS_VERSION, len(record_bytes))
    return b"".join((head, record_bytes, _LENGTH.pack(len(transaction_bytes)), transaction_bytes))


def hash_object(digest: bytes) -> bytes:
    """Return a running hash as format 5 has it (68 bytes)."""
    return _HASH_HEAD + digest


def running_hash(previous: bytes, record_bytes: bytes, transaction_bytes: bytes) -> bytes:
    """Return the running hash after one more item."""
    return after_hashes(previous, (sha384(stream_object(record_bytes, transaction_bytes)),))


def after_hashes(previous: bytes, hashes: Iterable[bytes]) -> bytes:
    """Return the running hash after items, of which only the hashes of their stream objects are known."""
    for digest in hashes:
        previous = sha384(_HASHED_HEAD + previous + _HASHED_HEAD + digest)
    return previous
