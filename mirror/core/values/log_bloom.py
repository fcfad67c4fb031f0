"""Bloom filters of contract logs: 2048 bits that tell which logs a block or transaction can't have.

As in the Ethereum yellow paper: keccak-256 of the emitting address and of each topic sets three bits each.
"""

from collections.abc import Iterable
from functools import lru_cache
from struct import Struct

from mirror.core.values.hashes import keccak256

BLOOM_LENGTH = 256

_NUMBERS, _MASK = Struct(">3H"), 8 * BLOOM_LENGTH - 1


def create_bloom(address: bytes, topics: Iterable[bytes]) -> bytes:
    """Return the 256 bytes of one log; topics may lack their leading zeros, `address` has 20 bytes."""
    bloom = _bits(address)
    for topic in topics:
        bloom |= _bits(topic.rjust(32, b"\0"))
    return bloom.to_bytes(BLOOM_LENGTH, "big")


# The same contracts tell of the same events and accounts again and again. Of new values, eth_bloom takes
# three to six times as long.
@lru_cache(maxsize=4_096)
def _bits(value: bytes) -> int:
    bits: tuple[int, ...] = _NUMBERS.unpack_from(keccak256(value))
    return 1 << (bits[0] & _MASK) | 1 << (bits[1] & _MASK) | 1 << (bits[2] & _MASK)


def union(blooms: Iterable[bytes]) -> bytes:
    """Return the filter of all the logs that the given filters are of."""
    united = 0
    for bloom in blooms:
        united |= int.from_bytes(bloom, "big")
    return united.to_bytes(BLOOM_LENGTH, "big")
