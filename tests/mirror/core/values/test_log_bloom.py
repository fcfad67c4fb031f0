"""Bloom filters of logs."""

from hypothesis import given
from hypothesis import strategies as st

from mirror.core.values.hashes import keccak256
from mirror.core.values.log_bloom import BLOOM_LENGTH, create_bloom, union

ADDRESSES = st.binary(min_size=20, max_size=20)


def bits(bloom: bytes) -> set[int]:
    number = int.from_bytes(bloom, "big")
    return {bit for bit in range(8 * BLOOM_LENGTH) if number >> bit & 1}


@given(address=ADDRESSES, topics=st.lists(st.binary(max_size=32), max_size=4))
def test_address_and_topics_set_three_bits_each(address: bytes, topics: list[bytes]) -> None:
    expected = set()
    for entry in (address, *(topic.rjust(32, b"\0") for topic in topics)):
        digest = keccak256(entry)
        expected |= {(digest[at] << 8 | digest[at + 1]) & 0x7FF for at in (0, 2, 4)}

    assert bits(create_bloom(address, topics)) == expected


@given(blooms=st.lists(ADDRESSES.map(lambda address: create_bloom(address, [])), max_size=5))
def test_a_union_has_the_bits_of_all(blooms: list[bytes]) -> None:
    united = union(blooms)

    assert len(united) == BLOOM_LENGTH
    assert bits(united) == set().union(*map(bits, blooms))
