"""Bloom filters of contract logs: 2048 bits that tell which logs a block or transaction can't have.

As in the Ethereum yellow paper: keccak-256 of the emitting address and of each topic sets three bits each.
"""

from collections.abc import Iterable

from mirror.values.hashes import keccak256

BLOOM_LENGTH = 256
_TOPIC_LENGTH = 32
_BITS = 8 * BLOOM_LENGTH


def of_log(address: bytes, topics: Iterable[bytes]) -> bytes:
    """The 256 bytes of one log; topics may lack their leading zeros, `address` has 20 bytes."""
    bloom = 0
    for entry in (address, *(topic.rjust(_TOPIC_LENGTH, b"\0") for topic in topics)):
        digest = keccak256(entry)
        for start in (0, 2, 4):
            bloom |= 1 << int.from_bytes(digest[start : start + 2], "big") % _BITS
    return bloom.to_bytes(BLOOM_LENGTH, "big")


def union(blooms: Iterable[bytes]) -> bytes:
    """The filter of all the logs the given filters are of."""
    united = 0
    for bloom in blooms:
        united |= int.from_bytes(bloom, "big")
    return united.to_bytes(BLOOM_LENGTH, "big")
