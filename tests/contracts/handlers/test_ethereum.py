"""Ethereum transactions: decoded columns, hash, nonce, and what is kept of failed ones."""

from typing import Any

import pytest

from mirror.core.values import ethereum
from mirror.demo.streams.record_files import account
from tests.contracts.compose import CALLER, CONTRACT, FILE, ContractStream, ethereum_data, function_result
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.django_db(transaction=True)

REVERTED, DUPLICATE_TRANSACTION, WRONG_NONCE, TOO_MANY_CHILDREN = 33, 11, 312, 328
INSUFFICIENT_PAYER_BALANCE = 10
HASH = b"\xee" * 32
TO, R, S = b"\xaa" * 20, b"r" * 32, b"s" * 32


def nonce() -> Any:
    ((stored_nonce,),) = stored("entity", "ethereum_nonce", f"id = {CALLER}")
    return stored_nonce


def with_sender(**more: Any) -> dict[str, Any]:
    return function_result(sender_id=account(CALLER), **more)


PRICE, TIP = (71 * 10**10).to_bytes(5, "big"), (7 * 10**10).to_bytes(5, "big")


@pytest.mark.checklist("ETH-02", "ETH-04", "ETH-10")
@pytest.mark.parametrize(
    ("kind", "prices", "signature", "chain_id", "access_list"),
    [
        (0, (PRICE, None, None), (0, b"\x1b"), None, None),
        (1, (PRICE, None, None), (1, None), b"\x01\x2a", []),
        (2, (None, TIP, PRICE), (1, None), b"\x01\x2a", []),
        (4, (None, TIP, PRICE), (1, None), b"\x01\x2a", []),
    ],
    ids=["legacy", "EIP-2930", "EIP-1559", "EIP-7702"],
)
def test_each_type_fills_its_columns(
    kind: int, prices: Any, signature: Any, chain_id: Any, access_list: Any
) -> None:
    stream = ContractStream()
    data = ethereum_data(b"call", kind=kind)
    at = stream.ethereum(data, function_result(), call_data=FILE)
    load(stream.block())

    assert stored(
        "ethereum_transaction",
        "type, chain_id, access_list, gas_price, max_priority_fee_per_gas, max_fee_per_gas, recovery_id,"
        "signature_v, signature_r, signature_s, in_weibars",
    ) == [(kind, chain_id, access_list, *prices, *signature, R, S, True)]
    assert stored(
        "ethereum_transaction",
        "consensus_timestamp, payer_account_id, nonce, gas_limit, to_address, value, call_data, call_data_id,"
        "data, max_gas_allowance, hash",
    ) == [(at, CALLER, 7, 100_000, TO, bytes.fromhex("06fc23ac00"), b"call", FILE, data, 5, HASH)]


@pytest.mark.checklist("ETH-04")
@pytest.mark.parametrize(
    ("weibars", "stored_as"),
    [(0, "00"), (1, "01"), (128, "0080"), (200_000_000_000, "2e90edd000"), (255 << 32, "00ff00000000")],
)
def test_the_value_is_stored_in_signed_weibars(weibars: int, stored_as: str) -> None:
    stream = ContractStream()
    stream.ethereum(ethereum_data(value=weibars), function_result())
    load(stream.block())

    assert stored("ethereum_transaction", "value") == [(bytes.fromhex(stored_as),)]


@pytest.mark.checklist("ETH-11")
@pytest.mark.parametrize("kind", [1, 2, 4])
def test_the_lists_of_a_transaction_are_stored(kind: int) -> None:
    stream = ContractStream()
    access_list = [[TO, [b"\1"]], [b"\2", []]]
    signed = [298, b"\xbb" * 20, 5, 1, R, b"\3"]
    data = ethereum_data(kind=kind, access_list=access_list, authorization_list=[signed])
    stream.ethereum(data, function_result())
    load(stream.block())

    authorization = {
        "address": "0x" + "bb" * 20,
        "chain_id": "0x12a",
        "nonce": 5,
        "r": "0x" + R.hex(),
        "s": f"0x{3:064x}",
        "y_parity": "0x1",
    }
    ((stored_access_list, authorization_list),) = stored(
        "ethereum_transaction", "access_list, authorization_list"
    )
    assert stored_access_list == [
        {"address": "0x" + "aa" * 20, "storage_keys": [f"0x{1:064x}"]},
        {"address": f"0x{2:040x}", "storage_keys": []},
    ]
    assert authorization_list == ([authorization] if kind == 4 else None)


@pytest.mark.checklist("ETH-06", "ETH-11")
def test_an_authorization_of_another_size_makes_the_transaction_undecodable(caplog: Any) -> None:
    stream = ContractStream()
    stream.ethereum(ethereum_data(kind=4, authorization_list=[[298, TO, 5, 1, R]]), function_result())
    load(stream.block())

    assert stored("ethereum_transaction", "hash") == []
    assert "Authorization tuple size was 5 but expected 6" in caplog.text


@pytest.mark.checklist("ETH-05")
def test_with_an_access_list_and_call_data_in_a_file_there_is_no_hash() -> None:
    stream = ContractStream()
    stream.create_file(contents=b"6080")
    for lists in ({"access_list": [[TO, []]]}, {"authorization_list": [[298, TO, 5, 1, R, S]]}):
        stream.ethereum(ethereum_data(kind=4, **lists), function_result(), hash=b"", call_data=FILE)
    load(stream.block())

    whole = ethereum_data(b"\x60\x80", kind=4, authorization_list=[[298, TO, 5, 1, R, S]])
    computed = ethereum.decode(whole).computed_hash()
    assert sorted(stored("ethereum_transaction", "hash")) == [(b"",), (computed,)]


@pytest.mark.checklist("ETH-10", "LUT-01")
def test_the_file_of_call_data_takes_part_in_the_transaction() -> None:
    stream = ContractStream()
    stream.ethereum(ethereum_data(), function_result(), call_data=FILE)
    with settings(persist__entityTransactions=True):
        load(stream.block())

    assert (FILE,) in stored("entity_transaction", "entity_id")


@pytest.mark.checklist("ETH-01", "ETH-08")
def test_a_failed_transaction_is_stored_and_has_a_result_that_can_be_found() -> None:
    stream = ContractStream()
    at = stream.ethereum(ethereum_data(b"call"), result=INSUFFICIENT_PAYER_BALANCE)
    load(stream.block())

    assert stored("ethereum_transaction", "consensus_timestamp, hash") == [(at, HASH)]
    assert stored(
        "contract_result",
        "consensus_timestamp, contract_id, sender_id, payer_account_id, function_parameters, gas_limit,"
        "gas_used, call_result, transaction_hash, transaction_result, transaction_index, transaction_nonce,"
        "created_contract_ids, amount, bloom, error_message, function_result, gas_consumed, failed_initcode",
    ) == [
        (at, 0, CALLER, CALLER, b"call", 100_000, 0, b"", HASH, 10, 0, 0, [], None, None, None, None, 0, None)
    ]
    assert stored("contract_transaction_hash", "hash, entity_id") == [(HASH, 0)]
    assert stored("contract_transaction", "entity_id") == []


@pytest.mark.checklist("ETH-08")
@pytest.mark.parametrize("result", [DUPLICATE_TRANSACTION, WRONG_NONCE])
def test_a_transaction_that_was_never_run_has_no_result(result: int) -> None:
    stream = ContractStream()
    stream.ethereum(ethereum_data(), result=result)
    load(stream.block())

    assert len(stored("ethereum_transaction", "hash")) == 1
    assert stored("contract_result", "contract_id") == []


@pytest.mark.checklist("ETH-06")
def test_an_undecodable_transaction_is_a_problem_but_stored(caplog: Any) -> None:
    stream = ContractStream()
    stream.ethereum(b"\x02\xc0", function_result())
    stream.ethereum(b"\x02\xc0", result=INSUFFICIENT_PAYER_BALANCE)
    load(stream.block())

    assert stored("ethereum_transaction", "hash") == []
    assert len(stored("transaction", "consensus_timestamp")) == 2
    assert len(stored("contract_result", "consensus_timestamp")) == 1
    assert "it has 0 elements, type 2 has 12" in caplog.text


@pytest.mark.checklist("ETH-05")
def test_the_hash_is_from_the_record_or_else_from_the_data() -> None:
    stream = ContractStream()
    data = ethereum_data(b"call")
    first = stream.ethereum(data, function_result())
    second = stream.ethereum(data, function_result(), hash=b"", call_data=FILE)
    load(stream.block())

    computed = ethereum.decode(data).computed_hash()
    assert stored("ethereum_transaction", "consensus_timestamp, hash") == [(first, HASH), (second, computed)]


@pytest.mark.checklist("ETH-05", "FIL-07")
@pytest.mark.parametrize("items_per_batch", [1, 1000])
def test_call_data_in_a_file_is_part_of_the_hash(items_per_batch: int) -> None:
    stream = ContractStream()
    stream.create_file(contents=b"0x0000")
    stream.update_file(contents=b"0x60")
    blocks = [stream.block()]
    stream.append(contents=b"80")
    stream.update_file(contents=b"")
    blocks.append(stream.block())
    stream.append(contents=b"01")
    stream.ethereum(ethereum_data(), function_result(), hash=b"", call_data=FILE)
    blocks.append(stream.block())
    stream.append(contents=b"ff")
    stream.ethereum(ethereum_data(), function_result(), hash=b"", call_data=FILE)
    blocks.append(stream.block())
    with settings(importer__parser__record__batch__maxItems=items_per_batch):
        load(*blocks)

    assert sorted(hash for (hash,) in stored("ethereum_transaction", "hash")) == sorted(
        ethereum.decode(ethereum_data(call_data)).computed_hash()
        for call_data in (b"\x60\x80\x01", b"\x60\x80\x01\xff")
    )


@pytest.mark.checklist("ETH-05")
@pytest.mark.parametrize("contents", [None, b"no hex", b"0x600"])
def test_without_readable_call_data_there_is_no_hash(contents: bytes | None) -> None:
    stream = ContractStream()
    if contents is not None:
        stream.create_file(contents=contents)
    stream.ethereum(ethereum_data(), function_result(), hash=b"", call_data=FILE)
    load(stream.block())

    assert stored("ethereum_transaction", "hash") == [(b"",)]
    assert stored("contract_result", "transaction_hash") == [(b"",)]


@pytest.mark.checklist("ETH-05")
def test_system_files_hold_no_call_data() -> None:
    stream = ContractStream()
    stream.create_file(150, b"60")
    stream.ethereum(ethereum_data(), function_result(), hash=b"", call_data=150)
    load(stream.block())

    assert stored("ethereum_transaction", "hash") == [(b"",)]


@pytest.mark.checklist("ETH-09")
def test_hashes_can_be_left_out() -> None:
    stream = ContractStream()
    stream.ethereum(ethereum_data(), function_result())
    with settings(persist__transactionHash=False):
        load(stream.block())

    assert stored("transaction_hash", "hash") == []


@pytest.mark.checklist("ETH-07")
@pytest.mark.parametrize(
    ("version", "result", "told", "expected"),
    [
        ((0, 69, 0), 22, {"signer_nonce": {"value": 12}}, 12),
        ((0, 69, 0), REVERTED, {"signer_nonce": {"value": 0}}, 0),
        ((0, 69, 0), 22, {}, 3),
        ((0, 47, 0), 22, {}, 3),
        ((0, 46, 9), 22, {}, 8),
        ((0, 46, 0), REVERTED, {}, 8),
        ((0, 46, 0), TOO_MANY_CHILDREN, {}, 8),
        ((0, 46, 0), INSUFFICIENT_PAYER_BALANCE, {}, 3),
    ],
)
def test_the_nonce_of_the_sender_is_stored(version: Any, result: int, told: Any, expected: int) -> None:
    stream = ContractStream(hapi_version=version)
    created = stream.crypto_create(CALLER).consensus_timestamp
    stream.ethereum(ethereum_data(nonce=2), with_sender(signer_nonce={"value": 3}))
    block = stream.block()
    stream.ethereum(ethereum_data(nonce=7), with_sender(**told), result=result)
    load_in_any_batches(block, stream.block())

    assert nonce() == expected
    assert stored("entity", "timestamp_range", f"id = {CALLER}") == [(f"[{created},)",)]


@pytest.mark.checklist("ETH-07")
def test_a_delegation_of_the_sender_raises_its_nonce_as_the_record_says() -> None:
    stream = ContractStream()
    stream.crypto_create(CALLER)
    data = ethereum_data(kind=4, nonce=7, authorization_list=[[298, TO, 8, 1, R, S]])
    stream.ethereum(data, with_sender(signer_nonce={"value": 9}))
    load(stream.block())

    assert nonce() == 9


@pytest.mark.checklist("ETH-07")
def test_nonces_can_be_left_out() -> None:
    stream = ContractStream()
    stream.crypto_create(CALLER)
    stream.ethereum(ethereum_data(), with_sender(signer_nonce={"value": 3}))
    with settings(persist__trackNonce=False):
        load(stream.block())

    assert nonce() == 0


@pytest.mark.checklist("ETH-01")
def test_decoded_transactions_can_be_left_out() -> None:
    stream = ContractStream()
    stream.ethereum(ethereum_data(), function_result())
    with settings(persist__ethereumTransactions=False):
        load(stream.block())

    assert stored("ethereum_transaction", "hash") == []
    ((hash,),) = stored("transaction", "transaction_hash")
    assert stored("contract_result", "transaction_hash, contract_id") == [(hash[:32], CONTRACT)]
