"""Keys of nodes: what in an address book is none verifies nothing."""

import pytest

from ledger.stream.signature.signature_file import verify
from mirror.demo.streams.keys import nodes

HASH = b"\1" * 48
# Names the algorithm of a key: RSA.
RSA = "06092a864886f70d010101"


def test_a_node_signs_by_its_key_alone():
    first, second = (node.address_book_node.public_key for node in nodes()[:2])
    signature = nodes()[0].sign(HASH)

    assert verify(first, HASH, signature)
    assert not verify(second, HASH, signature)


@pytest.mark.parametrize(
    "change",
    [
        lambda key: "",
        lambda key: key[:-2],
        lambda key: "x" + key,
        lambda key: key.replace(RSA, "06092a864886f70d01017f"),
        lambda key: key.replace(RSA, "06092a964886f70d010101"),
    ],
    ids=["empty", "cut off", "no hex", "of an unknown algorithm", "of an algorithm of nobody"],
)
def test_what_is_no_key_verifies_nothing(change):
    key = nodes()[0].address_book_node.public_key
    assert RSA in key

    assert not verify(change(key), HASH, nodes()[0].sign(HASH))
