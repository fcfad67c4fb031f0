import pytest
from hypothesis import given
from hypothesis import strategies as st

from mirror.core.values import keys
from mirror.core.values.hapi.messages import ContractID, Key, KeyList, ThresholdKey

ED25519, ECDSA = bytes(range(32)), b"\x02" + bytes(range(32))


def of_list(*members):
    return Key(keyList=KeyList(keys=members)).SerializeToString()


def of_threshold(threshold, *members):
    return Key(thresholdKey=ThresholdKey(threshold=threshold, keys=KeyList(keys=members))).SerializeToString()


ED25519_KEY, ECDSA_KEY = Key(ed25519=ED25519), Key(ECDSA_secp256k1=ECDSA)


@pytest.mark.parametrize(
    ("key", "kind", "raw"),
    [
        (ED25519_KEY.SerializeToString(), "ED25519", ED25519),
        (of_list(ED25519_KEY), "ED25519", ED25519),
        (of_threshold(1, ED25519_KEY), "ED25519", ED25519),
        (ECDSA_KEY.SerializeToString(), "ECDSA_SECP256K1", ECDSA),
        (of_list(ECDSA_KEY), "ECDSA_SECP256K1", ECDSA),
        (of_threshold(1, ECDSA_KEY), "ECDSA_SECP256K1", ECDSA),
    ],
)
def test_a_single_key_shows_its_kind_and_raw_bytes(key, kind, raw):
    assert keys.key_json(key) == {"_type": kind, "key": raw.hex()}
    assert keys.public_key(key) == raw.hex()


@pytest.mark.parametrize(
    "key",
    [
        b"",
        b"\x01",
        bytes.fromhex("1220") + bytes(31),
        bytes.fromhex("1220") + bytes(33),
        of_list(ED25519_KEY, ED25519_KEY),
        of_threshold(2, ED25519_KEY),
        Key(RSA_3072=b"rsa").SerializeToString(),
    ],
)
def test_any_other_key_shows_as_its_serialized_bytes(key):
    assert keys.key_json(key) == {"_type": "ProtobufEncoded", "key": key.hex()}


def test_no_key_and_the_empty_key_list_show_as_nothing():
    assert keys.key_json(None) is None
    assert keys.key_json(of_list()) is None


@pytest.mark.checklist("ENT-07")
@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (Key(RSA_3072=b"rsa").SerializeToString(), b"rsa".hex()),
        (Key(ECDSA_384=b"ecdsa").SerializeToString(), b"ecdsa".hex()),
        (of_threshold(2, ED25519_KEY), ED25519.hex()),
    ],
    ids=["RSA", "ECDSA-384", "impossible threshold"],
)
def test_every_primitive_key_has_a_public_key(key, expected):
    assert keys.public_key(key) == expected


@pytest.mark.checklist("ENT-08")
@pytest.mark.parametrize(
    "key",
    [
        None,
        b"",
        b"\xff\xff",
        of_list(),
        of_list(ED25519_KEY, ECDSA_KEY),
        of_list(Key(keyList=KeyList(keys=[ED25519_KEY]))),
        of_list(Key(contractID=ContractID(contractNum=5))),
        Key(contractID=ContractID(contractNum=5)).SerializeToString(),
        Key(delegatable_contract_id=ContractID(contractNum=5)).SerializeToString(),
        Key(ed25519=b"").SerializeToString(),
    ],
)
def test_several_keys_or_other_bytes_have_no_public_key(key):
    assert keys.public_key(key) is None


@given(st.binary(max_size=60))
def test_any_bytes_have_a_key_json(data):
    shown = keys.key_json(data)

    assert shown is None or set(shown) == {"_type", "key"}
    keys.public_key(data)
