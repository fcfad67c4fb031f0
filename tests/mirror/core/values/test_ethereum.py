"""Raw Ethereum transactions, decoded: recorded ones of a public network, composed ones, damaged ones."""

import json
from typing import Any

import pytest
import rlp
from hypothesis import given
from hypothesis import strategies as st

from mirror.core.values import ethereum
from mirror.core.values.ethereum import (
    WEIBARS_PER_TINYBAR,
    InvalidEthereumData,
    access_list_payload,
    created_address,
    signed_bytes,
)
from tests.ledger.stream.fixtures import PRESENT, ROOT, needs_fixtures

FOLDER = ROOT / "ethereum"


def recorded(name: str) -> list[Any]:
    rows: list[Any] = json.loads((FOLDER / name).read_text()) if PRESENT else []
    return rows


def call_data_of(file: int) -> bytes:
    chunks = [row["file_data_hex"] for row in recorded("file_data.json") if int(row["entity_id"]) == file]
    return bytes.fromhex(bytes.fromhex("".join(chunks)).decode().removeprefix("0x"))


def raw(*elements: bytes | list[Any], kind: int = 0) -> bytes:
    """A transaction of these elements."""
    whole: bytes = rlp.encode(elements)
    return bytes((kind,)) + whole if kind else whole


def legacy(v: bytes = b"\x1b", value: bytes = b"", call_data: bytes = b"", nonce: bytes = b"\1") -> bytes:
    return raw(nonce, b"\2", b"\3", b"", value, call_data, v, b"\7", b"\x08")


@needs_fixtures
@pytest.mark.parametrize(
    "row", [pytest.param(row, id=row["hash"]) for row in recorded("ethereum_transaction.json")]
)
def test_recorded_transactions_decode_and_hash(row: dict[str, Any]) -> None:
    decoded = ethereum.decode(bytes.fromhex(row["data"]))

    for name in ("type", "nonce", "gas_limit", "recovery_id"):
        assert getattr(decoded, name) == row[name]
    for name in ("call_data", "chain_id", "signature_r", "signature_s", "signature_v", "to_address"):
        expected = None if row[name] is None else bytes.fromhex(row[name])
        assert getattr(decoded, name) == expected, name
    payload = None if decoded.access_list is None else access_list_payload(decoded.access_list)
    assert payload == (None if row["access_list"] is None else bytes.fromhex(row["access_list"]))
    assert signed_bytes(decoded.value // WEIBARS_PER_TINYBAR).hex() == row["value"]
    call_data = (
        None if decoded.call_data else call_data_of(row["call_data_id"]) if row["call_data_id"] else None
    )
    assert decoded.computed_hash(call_data).hex() == row["hash"]


@pytest.mark.parametrize(
    ("v", "chain_id", "recovery_id"),
    [
        (b"\x1b", None, 0),
        (b"\x1c", None, 1),
        (b"\x22", None, 1),
        (b"\x23", b"\0", 0),
        (b"\x02\x73", b"\x01\x28", 0),
        (b"\x02\x74", b"\x01\x28", 1),
        (b"\x01\x23", b"\0\x80", 0),
    ],
)
@pytest.mark.checklist("ETH-03")
def test_chain_and_recovery_id_of_a_legacy_transaction_are_in_v(
    v: bytes, chain_id: bytes | None, recovery_id: int
) -> None:
    decoded = ethereum.decode(legacy(v=v))

    assert (decoded.chain_id, decoded.recovery_id, decoded.signature_v) == (chain_id, recovery_id, v)


@pytest.mark.parametrize(
    ("number", "stored"),
    [(0, b"\0"), (127, b"\x7f"), (128, b"\0\x80"), (256, b"\1\0"), (10**18, (10**18).to_bytes(8, "big"))],
)
@pytest.mark.checklist("ETH-04")
def test_an_amount_is_stored_in_the_shortest_signed_bytes(number: int, stored: bytes) -> None:
    assert signed_bytes(number) == stored


ADDRESS, SLOT = b"\xaa" * 20, b"\xbb" * 32
SIGNED = [b"\x01\x2a", ADDRESS, b"\5", b"\1", b"r" * 32, b"s" * 32]


def delegating(access_list: Any = (), authorizations: Any = (SIGNED,), call_data: bytes = b"") -> bytes:
    """A transaction of type 4."""
    before = (b"\1\x2a", b"\2", b"\3", b"\4", b"\5", b"\6", b"\7", call_data)
    return raw(*before, list(access_list), list(authorizations), b"\1", b"r", b"s", kind=4)


@pytest.mark.checklist("ETH-02", "ETH-11")
def test_a_transaction_of_type_4_has_all_its_elements() -> None:
    decoded = ethereum.decode(delegating([[ADDRESS, [SLOT, b"\1"]], [b"\2", []]], call_data=b"call"))

    assert (decoded.type, decoded.chain_id, decoded.nonce, decoded.gas_limit) == (4, b"\1\x2a", 2, 5)
    assert (decoded.max_priority_fee_per_gas, decoded.max_fee_per_gas) == (b"\3", b"\4")
    assert (decoded.to_address, decoded.value, decoded.call_data) == (b"\6", 7, b"call")
    assert (decoded.gas_price, decoded.signature_v, decoded.recovery_id) == (None, None, 1)
    assert (decoded.signature_r, decoded.signature_s) == (b"r", b"s")
    assert decoded.access_list == [
        {"address": "0x" + "aa" * 20, "storage_keys": ["0x" + "bb" * 32, f"0x{1:064x}"]},
        {"address": f"0x{2:040x}", "storage_keys": []},
    ]
    assert decoded.authorization_list == [
        {
            "address": "0x" + "aa" * 20,
            "chain_id": "0x12a",
            "nonce": 5,
            "r": "0x" + "72" * 32,
            "s": "0x" + "73" * 32,
            "y_parity": "0x1",
        }
    ]


@pytest.mark.checklist("ETH-11")
def test_empty_parts_of_an_authorization_are_zero() -> None:
    decoded = ethereum.decode(delegating(authorizations=[[b""] * 6]))

    zero = {"address": f"0x{0:040x}", "r": f"0x{0:064x}", "s": f"0x{0:064x}"}
    assert decoded.authorization_list == [zero | {"chain_id": "0x0", "nonce": 0, "y_parity": "0x0"}]
    assert decoded.access_list == []


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (delegating(authorizations=[SIGNED[:5]]), "Authorization tuple size was 5 but expected 6"),
        (delegating(authorizations=[[*SIGNED, b""]]), "Authorization tuple size was 7 but expected 6"),
        (delegating(authorizations=[b"\1"]), "Authorization tuple is not a list"),
        (delegating(authorizations=[[*SIGNED[:5], []]]), "a list within an authorization"),
        (delegating(authorizations=[[*SIGNED[:2], b"\0\1", *SIGNED[3:]]]), "nonce of an authorization"),
        (delegating([[ADDRESS]]), "Access list tuple size was 1 but expected 2"),
        (delegating([ADDRESS]), "Access list tuple is not a list"),
        (delegating([[ADDRESS, SLOT]]), "not an address and a list of keys"),
        (delegating([[[], []]]), "not an address and a list of keys"),
        (delegating([[ADDRESS, [[]]]]), "a list for a storage key"),
        (raw(*[b"\1"] * 12, kind=4), "12 elements, type 4 has 13"),
        (raw(*[b"\1"] * 13, kind=4), "its access_list is not a list"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.checklist("ETH-06", "ETH-11")
def test_lists_of_another_shape_are_refused_with_a_reason(data: bytes, problem: str) -> None:
    with pytest.raises(InvalidEthereumData, match=problem):
        ethereum.decode(data)


_ADDRESSES, _KEYS = st.binary(min_size=20, max_size=20), st.binary(min_size=32, max_size=32)


@given(st.lists(st.tuples(_ADDRESSES, st.lists(_KEYS, max_size=3)), max_size=3))
def test_an_access_list_is_encoded_as_the_transaction_had_it(items: Any) -> None:
    access_list = [[address, keys] for address, keys in items]
    decoded = ethereum.decode(delegating(access_list))

    assert decoded.access_list is not None
    payload = access_list_payload(decoded.access_list)
    assert payload == b"".join(rlp.encode(item) for item in access_list)


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        pytest.param(b"", "it has 0 bytes", id="nothing"),
        pytest.param(b"\x02", "it has 1 bytes", id="a type alone"),
        pytest.param(b"\x03" + raw(b"\1"), "its type 03 is none", id="an unknown type"),
        pytest.param(raw(b"\1", b"\2"), "it has 2 elements, type 0 has 9", id="too few elements"),
        pytest.param(raw(b"\1", b"\2", kind=1), "it has 2 elements, type 1 has 11", id="too few of type 1"),
        pytest.param(legacy() + b"\0", "not one list", id="something after it"),
        pytest.param(b"\x01\x02", "not one list", id="a type and a string"),
        pytest.param(legacy(nonce=b"\0\1"), "its nonce 0001 is no number", id="a nonce with a leading zero"),
        pytest.param(legacy(nonce=b"\1" * 9), "its nonce .* too large", id="a nonce of nine bytes"),
        pytest.param(legacy()[:-1], "not strict RLP: 1 bytes are missing", id="cut off"),
        pytest.param(bytes.fromhex("8105"), "not strict RLP", id="a small byte with a header"),
        pytest.param(bytes.fromhex("b800"), "not strict RLP", id="a long length of nothing"),
        pytest.param(bytes.fromhex("b837" + "00" * 55), "not strict RLP", id="a long length of 55 bytes"),
        pytest.param(
            bytes.fromhex("b90038" + "00" * 56), "not strict RLP", id="a length with a leading zero"
        ),
        pytest.param(bytes.fromhex("b938"), "not strict RLP", id="a length cut off"),
        pytest.param(bytes.fromhex("0181"), "not strict RLP", id="a header alone"),
        pytest.param(bytes.fromhex("c3aabb"), "not strict RLP", id="a list cut off"),
        pytest.param(
            raw(b"\1", b"\2", b"\3", [], b"", b"", b"\x1b", b"\7", b"\x08"),
            "its to is a list",
            id="a list for to",
        ),
    ],
)
@pytest.mark.checklist("ETH-06")
def test_other_bytes_are_refused_with_a_reason(data: bytes, problem: str) -> None:
    with pytest.raises(InvalidEthereumData, match=problem):
        ethereum.decode(data)


@given(st.binary(max_size=120))
def test_any_bytes_decode_or_are_refused(data: bytes) -> None:
    for damaged in (data, b"\x01" + data, legacy()[: len(data)] + data):
        try:
            ethereum.decode(damaged)
        except InvalidEthereumData:
            continue


def test_call_data_of_a_transaction_with_an_access_list_can_not_be_replaced() -> None:
    listed = raw(b"\1", b"\2", b"\3", b"\4", b"\5", b"", b"\6", b"", [[b"\7", []]], b"\1", b"r", b"s", kind=2)
    unlisted = raw(b"\1", b"\2", b"\3", b"\4", b"\5", b"", b"\6", b"", [], b"\1", b"r", b"s", kind=2)
    with_data = raw(b"\1", b"\2", b"\3", b"\4", b"\5", b"", b"\6", b"data", [], b"\1", b"r", b"s", kind=2)

    assert ethereum.decode(listed).access_list == [{"address": f"0x{7:040x}", "storage_keys": []}]
    assert ethereum.decode(listed).computed_hash(b"data") == b""
    assert ethereum.decode(unlisted).computed_hash(b"data") == ethereum.decode(with_data).computed_hash()
    whole = ethereum.decode(delegating(call_data=b"data")).computed_hash()
    assert ethereum.decode(delegating()).computed_hash(b"data") == whole


def test_deep_nesting_of_an_access_list_is_refused_like_any_other_shape() -> None:
    nested = b""
    for _ in range(5_000):
        nested = rlp.codec.length_prefix(len(nested), 0xC0) + nested
    fields = [b"\1", b"\2", b"\3", b"\4", b"\5", b"", b"\6", b"", nested, b"\1", b"r", b"s"]
    payload = b"".join(field if field is nested else rlp.encode(field) for field in fields)

    with pytest.raises(InvalidEthereumData, match="Access list tuple size was 1 but expected 2"):
        ethereum.decode(b"\2" + rlp.codec.length_prefix(len(payload), 0xC0) + payload)


def test_addresses_of_created_contracts_are_those_of_ethereum():
    creator = bytes.fromhex("6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0")
    created = {
        0: "cd234a471b72ba2f1ccf0a70fcaba648a5eecd8d",
        1: "343c43a37d37dff08ae8c4a11544c718abb4fcf8",
        2: "f778b86fa74e846c4f0a1fbd1335fe81c00a0c91",
    }
    assert {nonce: created_address(creator, nonce).hex() for nonce in created} == created
