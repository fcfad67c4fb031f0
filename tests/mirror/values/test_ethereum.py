"""Raw Ethereum transactions, decoded: recorded ones of a public network, composed ones, damaged ones."""

import json
from typing import Any

import pytest
import rlp
from hypothesis import given
from hypothesis import strategies as st

from mirror.values import ethereum
from mirror.values.ethereum import InvalidEthereumData, created_address
from tests.ledger.stream.fixtures import PRESENT, ROOT, needs_fixtures

FOLDER = ROOT / "ethereum"


def recorded(name: str) -> list[Any]:
    rows: list[Any] = json.loads((FOLDER / name).read_text()) if PRESENT else []
    return rows


def call_data_of(file: int) -> bytes:
    chunks = [row["file_data_hex"] for row in recorded("file_data.json") if int(row["entity_id"]) == file]
    return bytes.fromhex(bytes.fromhex("".join(chunks)).decode().removeprefix("0x"))


def raw(*elements: bytes | list[Any], kind: int = 0) -> bytes:
    """A transaction of these elements; a list stands for the access list."""
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
    for name in (
        *("access_list", "call_data", "chain_id", "signature_r", "signature_s", "signature_v", "to_address"),
    ):
        expected = None if row[name] is None else bytes.fromhex(row[name])
        assert getattr(decoded, name) == expected, name
    assert ethereum.tinybars(decoded.value).hex() == row["value"]
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
    ("weibars", "stored"),
    [
        (0, b"\0"),
        (9_999_999_999, b"\0"),
        (10_000_000_000, b"\1"),
        (127 * 10**10, b"\x7f"),
        (128 * 10**10, b"\0\x80"),
        (10**28, (10**18).to_bytes(8, "big")),
    ],
)
@pytest.mark.checklist("ETH-04")
def test_weibars_become_whole_tinybars_in_the_shortest_signed_bytes(weibars: int, stored: bytes) -> None:
    assert ethereum.tinybars(weibars) == stored


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
    listed = raw(b"\1", b"\2", b"\3", b"\4", b"\5", b"", b"\6", b"", [b"\7"], b"\1", b"r", b"s", kind=2)
    unlisted = raw(b"\1", b"\2", b"\3", b"\4", b"\5", b"", b"\6", b"", [], b"\1", b"r", b"s", kind=2)
    with_data = raw(b"\1", b"\2", b"\3", b"\4", b"\5", b"", b"\6", b"data", [], b"\1", b"r", b"s", kind=2)

    assert ethereum.decode(listed).access_list == b"\7"
    assert ethereum.decode(listed).computed_hash(b"data") == b""
    assert ethereum.decode(unlisted).computed_hash(b"data") == ethereum.decode(with_data).computed_hash()


def test_deep_nesting_of_an_access_list_does_not_matter() -> None:
    nested = b""
    for _ in range(5_000):
        nested = rlp.codec.length_prefix(len(nested), 0xC0) + nested
    fields = [b"\1", b"\2", b"\3", b"\4", b"\5", b"", b"\6", b"", nested, b"\1", b"r", b"s"]
    payload = b"".join(field if field is nested else rlp.encode(field) for field in fields)

    decoded = ethereum.decode(b"\2" + rlp.codec.length_prefix(len(payload), 0xC0) + payload)

    assert decoded.access_list is not None
    assert rlp.codec.length_prefix(len(decoded.access_list), 0xC0) + decoded.access_list == nested


def test_addresses_of_created_contracts_are_those_of_ethereum():
    creator = bytes.fromhex("6ac7ea33f8831ea9dcc53393aaa88b25a785dbf0")
    created = {
        0: "cd234a471b72ba2f1ccf0a70fcaba648a5eecd8d",
        1: "343c43a37d37dff08ae8c4a11544c718abb4fcf8",
        2: "f778b86fa74e846c4f0a1fbd1335fe81c00a0c91",
    }
    assert {nonce: created_address(creator, nonce).hex() for nonce in created} == created
