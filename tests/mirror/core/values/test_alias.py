import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from hypothesis import given
from hypothesis import strategies as st

from mirror.core.values import alias
from mirror.core.values.hapi.messages import Key, KeyList
from mirror.core.values.hashes import keccak256

# The key with private number 1 and the address every Ethereum tool derives from it.
ONE = bytes.fromhex("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798")
ADDRESS_OF_ONE = bytes.fromhex("7e5f4552091a69125d5dfcb7b8c2659029395bdf")


@given(st.binary(min_size=1, max_size=80))
def test_base32_reads_back_to_the_same_alias(data):
    text = alias.text(data)

    assert "=" not in text
    assert alias.parse(text) == data


@pytest.mark.parametrize("text", ["", "A", "AAA", "AAAAAA", "AB", "aa", "A=", "AA======", "A1", "A8", "AA\n"])
def test_base32_is_strict(text):
    with pytest.raises(alias.InvalidAlias):
        alias.parse(text)


@given(st.text(alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", max_size=40))
def test_text_that_is_accepted_is_the_text_of_its_alias(text):
    try:
        data = alias.parse(text)
    except alias.InvalidAlias:
        return
    assert alias.text(data) == text


def test_no_alias_has_no_text():
    assert alias.text(None) is None


@pytest.mark.checklist("ID-08")
def test_an_ecdsa_key_alias_stands_for_the_keccak_address_of_its_point():
    assert alias.evm_address(Key(ECDSA_secp256k1=ONE).SerializeToString()) == ADDRESS_OF_ONE


@given(st.integers(1, 2**128))
def test_both_parities_of_a_point_are_decompressed(private):
    point = ec.derive_private_key(private, ec.SECP256K1()).public_key().public_numbers()
    x, y = point.x.to_bytes(32, "big"), point.y.to_bytes(32, "big")
    compressed = bytes([2 + (point.y & 1)]) + x

    assert alias.evm_address_of_key(compressed) == keccak256(x + y)[12:]


def test_an_alias_of_twenty_bytes_is_an_evm_address_itself():
    assert alias.evm_address(ADDRESS_OF_ONE) == ADDRESS_OF_ONE


@pytest.mark.checklist("ID-08")
@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\xff" * 35,
        Key(ed25519=bytes(32)).SerializeToString(),
        Key(ECDSA_secp256k1=bytes(33)).SerializeToString(),
        Key(ECDSA_secp256k1=b"\x02" + b"\xff" * 32).SerializeToString(),
        Key(ECDSA_secp256k1=b"\x04" + bytes(64)).SerializeToString(),
        Key(keyList=KeyList(keys=[Key(ECDSA_secp256k1=ONE)])).SerializeToString(),
    ],
    ids=["empty", "no key", "ed25519", "prefix 0", "not on the curve", "uncompressed", "key list"],
)
def test_other_aliases_stand_for_no_address(data):
    assert alias.evm_address(data) is None
