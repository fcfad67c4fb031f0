"""Results of contract calls and creations: columns, logs, lookups, nonces, created contracts."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import ContractFunctionResult
from mirror.demo.streams.record_files import account
from tests.contracts.compose import (
    CALLER,
    CONTRACT,
    FILE,
    OTHER,
    TOPIC,
    ContractStream,
    actions,
    bytecode,
    change,
    contract,
    ethereum_data,
    evm_contract,
    file,
    function_result,
    log,
    state,
)
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.django_db(transaction=True)

INSUFFICIENT_PAYER_BALANCE, REVERTED = 10, 33
ADDRESS = b"\xab" * 20
PARAMETERS = b"\0\1parameters"
RESULT = (
    "consensus_timestamp, contract_id, payer_account_id, sender_id, amount, gas_limit, function_parameters,"
    "gas_used, call_result, bloom, error_message, function_result, created_contract_ids, transaction_index,"
    "transaction_nonce, transaction_result, failed_initcode"
)
TOP = {
    "call_type": 1,
    "calling_account": account(CALLER),
    "recipient_contract": contract(CONTRACT),
    "output": b"",
}


@pytest.mark.checklist("CON-11", "CON-12")
def test_a_call_has_its_parameters_and_its_result() -> None:
    stream = ContractStream()
    ran = function_result(sender_id=account(OTHER), errorMessage="oh\0", amount=99, gas=98)
    at = stream.call(ran=ran, nonce=0)
    load(stream.block())

    serialized = ContractFunctionResult(**ran).SerializeToString()
    assert stored("contract_result", RESULT) == [
        (
            *(at, CONTRACT, CALLER, OTHER, 3, 1000, PARAMETERS),
            *(500, b"result", bytes(255) + b"\1", "oh\ufffd", serialized, [], 0, 0, 22, None),
        )
    ]


@pytest.mark.checklist("CON-11", "CON-12")
def test_a_call_without_function_result_has_its_parameters() -> None:
    stream = ContractStream()
    stream.crypto_transfer({1002: -1, 1003: 1}, payer=1002)
    at = stream.call(result=REVERTED, nonce=2)
    load(stream.block())

    assert stored("contract_result", RESULT) == [
        (
            *(at, CONTRACT, CALLER, CALLER, 3, 1000, PARAMETERS),
            *(None, None, None, None, None, [], 0, 2, REVERTED, None),
        )
    ]


@pytest.mark.checklist("CON-11", "ID-07")
def test_the_contract_of_the_receipt_comes_before_that_of_the_body() -> None:
    stream = ContractStream()
    at = stream.call(OTHER, function_result(), receipt={"contractID": contract(CONTRACT)})
    load(stream.block())

    assert stored("contract_result", "contract_id") == [(CONTRACT,)]
    assert stored("transaction", "entity_id", f"consensus_timestamp = {at}") == [(CONTRACT,)]


@pytest.mark.checklist("CON-11")
def test_a_creation_has_its_initial_balance_and_constructor_parameters() -> None:
    stream = ContractStream()
    stream.create(body={"initialBalance": 5, "gas": 7, "constructorParameters": b"p"})
    load(stream.block())

    assert stored("contract_result", "contract_id, amount, gas_limit, function_parameters") == [
        (CONTRACT, 5, 7, b"p")
    ]


@pytest.mark.checklist("CON-13")
@pytest.mark.parametrize(("hash", "expected"), [(b"h" * 48, b"h" * 32), (b"short", b"short" + bytes(27))])
def test_a_result_is_found_by_the_first_32_bytes_of_the_hash(hash: bytes, expected: bytes) -> None:
    stream = ContractStream()
    stream.call(ran=function_result(logInfo=[log()]), record={"transactionHash": hash})
    load(stream.block())

    assert stored("contract_result", "transaction_hash") == [(expected,)]
    assert stored("contract_log", "transaction_hash") == [(expected,)]


@pytest.mark.checklist("CON-13")
def test_a_result_is_found_by_the_ethereum_hash() -> None:
    stream = ContractStream()
    stream.ethereum(ethereum_data(), function_result(logInfo=[log()]))
    load(stream.block())

    assert stored("contract_result", "transaction_hash") == [(b"\xee" * 32,)]
    assert stored("contract_log", "transaction_hash") == [(b"\xee" * 32,)]


@pytest.mark.checklist("CON-14")
def test_a_bloom_of_zeros_is_stored_empty() -> None:
    stream = ContractStream()
    stream.call(ran=function_result(bloom=bytes(256)))
    load(stream.block())

    assert stored("contract_result", "bloom") == [(b"",)]


@pytest.mark.checklist("CON-15")
@pytest.mark.parametrize(
    ("contract_id", "expected"),
    [(contract(359), 359), (evm_contract(ADDRESS), 0), (evm_contract(bytes(18) + b"\1\x67"), 359)],
    ids=["number", "unknown address", "long-zero address"],
)
def test_any_transaction_with_a_function_result_has_a_result_row(contract_id: Any, expected: int) -> None:
    stream = ContractStream()
    ran = function_result(amount=1, gas=2, functionParameters=b"p") | {"contractID": contract_id}
    stream.happen("tokenAssociate", {"account": account(CALLER)}, record={"contractCallResult": ran})
    load(stream.block())

    assert stored("contract_result", "contract_id, amount, gas_limit, function_parameters") == [
        (expected, 1, 2, b"p")
    ]


def test_an_empty_function_result_is_no_result() -> None:
    stream = ContractStream()
    stream.happen("tokenAssociate", {"account": account(CALLER)}, record={"contractCallResult": {}})
    load(stream.block())

    assert stored("contract_result", "contract_id") == []


@pytest.mark.checklist("CON-16")
@pytest.mark.parametrize(
    ("version", "sidecars", "consumed"),
    [
        pytest.param((0, 69, 0), [], 500, id="since 0.69 what was used"),
        pytest.param((0, 68, 9), [], None, id="before not known without actions"),
        pytest.param(
            (0, 68, 9), [actions(TOP | {"gas_used": 9, "call_depth": 1})], None, id="nor by inner ones"
        ),
        pytest.param((0, 68, 9), [actions(TOP | {"gas_used": 9})], 9 + 21_000 + 4 + 16 * 11, id="a call"),
        pytest.param(
            (0, 68, 9),
            [actions(TOP | {"gas_used": 9, "call_type": 2})],
            9 + 21_000 + 4 + 16 * 11 + 32_000,
            id="a creation by a call",
        ),
    ],
)
def test_gas_consumed_by_a_call(version: Any, sidecars: Any, consumed: int | None) -> None:
    stream = ContractStream(hapi_version=version)
    stream.call(ran=function_result(), sidecars=sidecars)
    load(stream.block())

    assert stored("contract_result", "gas_consumed") == [(consumed,)]


@pytest.mark.checklist("CON-16")
@pytest.mark.parametrize(
    ("body", "code", "consumed"),
    [
        ({"initcode": b"\0\0\1"}, [bytecode()], 8 + 16),
        ({"constructorParameters": b"\1"}, [bytecode(initcode=b"\0\1\1")], 4 + 32),
        ({"constructorParameters": b"\1"}, [], 16),
    ],
    ids=["init code of the body", "of the sidecar", "only parameters known"],
)
def test_gas_consumed_by_a_creation(body: Any, code: Any, consumed: int) -> None:
    stream = ContractStream(hapi_version=(0, 50, 0))
    stream.create(body=body, sidecars=[actions(TOP | {"gas_used": 9, "call_type": 2}), *code])
    load(stream.block())

    assert stored("contract_result", "gas_consumed") == [(9 + 21_000 + 32_000 + consumed,)]


@pytest.mark.checklist("CON-17")
def test_created_contracts_are_listed_and_have_their_own_records_since_hapi_0_23() -> None:
    stream = ContractStream(hapi_version=(0, 23, 0))
    stream.call(ran=function_result(createdContractIDs=[contract(OTHER), contract(0), contract(CONTRACT)]))
    load(stream.block())

    assert stored("contract_result", "created_contract_ids") == [([OTHER, CONTRACT],)]
    assert stored("entity", "id") == stored("contract", "id") == []


@pytest.mark.checklist("CON-17")
def test_before_hapi_0_23_created_contracts_start_with_the_list() -> None:
    stream = ContractStream(hapi_version=(0, 22, 9))
    created = function_result(createdContractIDs=[contract(CONTRACT), contract(OTHER)])
    at = stream.create(
        body={"fileID": file(FILE), "memo": "memo", "autoRenewPeriod": {"seconds": 7}}, created=created
    )
    stream.call(ran=function_result(createdContractIDs=[contract(OTHER + 1)]))
    load(stream.block())

    assert stored("entity", "id, type, created_timestamp, memo, auto_renew_period, balance, deleted") == [
        (CONTRACT, "CONTRACT", at, "memo", 7, 0, False),
        (OTHER, "CONTRACT", at, "memo", 7, 0, False),
        (OTHER + 1, "CONTRACT", at + 1000, "", None, 0, False),
    ]
    assert stored("contract", "id, file_id") == [(CONTRACT, FILE), (OTHER, FILE)]


@pytest.mark.checklist("CON-17")
def test_a_failed_call_creates_no_contracts() -> None:
    stream = ContractStream(hapi_version=(0, 22, 9))
    stream.call(ran=function_result(createdContractIDs=[contract(OTHER)]), result=REVERTED)
    load(stream.block())

    assert stored("entity", "id") == []
    assert stored("contract_result", "created_contract_ids") == [([OTHER],)]


@pytest.mark.checklist("CON-18")
def test_nonces_of_contracts_start_no_version() -> None:
    stream = ContractStream()
    at = stream.create()
    block = stream.block()
    nonces = [{"contract_id": contract(CONTRACT), "nonce": 4}, {"contract_id": contract(OTHER), "nonce": 1}]
    stream.call(ran=function_result(contract_nonces=nonces))
    load_in_any_batches(block, stream.block())

    assert stored("entity", "id, ethereum_nonce, timestamp_range") == [(CONTRACT, 4, f"[{at},)")]
    assert stored("entity_history", "id") == []


@pytest.mark.checklist("CON-18", "MRG-09")
@pytest.mark.parametrize("listed", [[], [contract(OTHER)]], ids=["as in blocks", "listed as created"])
def test_a_contract_created_by_another_has_the_nonce_that_the_result_before_its_own_record_tells(
    listed: list[Any],
) -> None:
    stream = ContractStream()
    nonces = [{"contract_id": contract(OTHER), "nonce": 1}]
    parent = stream.call(ran=function_result(createdContractIDs=listed, contract_nonces=nonces))
    at = stream.create(OTHER, parent=parent, nonce=1)
    blocks = [stream.block()]
    stream.crypto_transfer({CALLER: -2, OTHER: 2})
    load_in_any_batches(*blocks, stream.block())

    assert stored("entity", "id, ethereum_nonce, timestamp_range") == [(OTHER, 1, f"[{at},)")]


@pytest.mark.checklist("CON-19")
def test_logs_count_through_the_block_and_lose_leading_zeros_of_topics() -> None:
    stream = ContractStream()
    first = stream.call(ran=function_result(logInfo=[log(OTHER, TOPIC, bytes(32)), log(CONTRACT)]))
    second = stream.call(ran=function_result(logInfo=[log(CONTRACT, b"\1" * 32, TOPIC, TOPIC, TOPIC)]))
    blocks = [stream.block()]
    third = stream.call(OTHER, function_result(OTHER, logInfo=[log(OTHER)]))
    load_in_any_batches(*blocks, stream.block())

    assert stored(
        "contract_log",
        "consensus_timestamp, index, contract_id, root_contract_id, topic0, topic1, topic2, topic3, data,"
        "bloom, payer_account_id, transaction_index",
    ) == [
        (first, 0, OTHER, CONTRACT, b"\7", b"\0", None, None, b"data", bytes(256), CALLER, 0),
        (first, 1, CONTRACT, CONTRACT, None, None, None, None, b"data", bytes(256), CALLER, 0),
        (second, 2, CONTRACT, CONTRACT, b"\1" * 32, b"\7", b"\7", b"\7", b"data", bytes(256), CALLER, 1),
        (third, 0, OTHER, OTHER, None, None, None, None, b"data", bytes(256), CALLER, 0),
    ]


@pytest.mark.checklist("CON-26")
def test_state_changes_without_a_result_count_alone() -> None:
    stream = ContractStream()
    stream.happen("tokenAssociate", {}, sidecars=[state(change(b"\1", b""), number=OTHER)])
    load(stream.block())

    assert stored("contract_transaction", "entity_id, contract_ids") == [(OTHER, [OTHER])]


@pytest.mark.checklist("CON-27")
def test_every_result_is_found_by_its_hash() -> None:
    stream = ContractStream()
    at = stream.call(ran=function_result(), record={"transactionHash": b"h" * 48}, result=REVERTED)
    load(stream.block())

    assert stored(
        "contract_transaction_hash",
        "hash, consensus_timestamp, entity_id, payer_account_id, transaction_result",
    ) == [(b"h" * 32, at, CONTRACT, CALLER, REVERTED)]


@pytest.mark.checklist("CFG-01")
@pytest.mark.parametrize(
    ("flag", "table", "column"),
    [
        ("contractTransaction", "contract_transaction", "entity_id"),
        ("contractTransactionHash", "contract_transaction_hash", "entity_id"),
    ],
)
def test_each_kind_of_row_can_be_left_out(flag: str, table: str, column: str) -> None:
    stream = ContractStream()
    stream.call(ran=function_result(logInfo=[log()]))
    with settings(**{f"persist__{flag}": False}):
        load(stream.block())

    assert stored(table, column) == []
    assert len(stored("contract_log", "index")) == 1


@pytest.mark.checklist("CFG-01", "ETH-08")
def test_without_results_only_state_leaves_rows() -> None:
    stream = ContractStream()
    stream.call(ran=function_result(logInfo=[log()]), sidecars=[state(change(b"\1", b""), number=OTHER)])
    stream.ethereum(ethereum_data(), result=INSUFFICIENT_PAYER_BALANCE)
    with settings(persist__contractResults=False):
        load(stream.block())

    assert stored("contract_log", "index") == []
    assert stored("contract_transaction", "entity_id, contract_ids") == [(OTHER, [OTHER])]
    assert stored("contract_result", "consensus_timestamp") == []
    assert stored("contract_transaction_hash", "consensus_timestamp") == []


@pytest.mark.checklist("CON-26")
def test_a_contract_without_state_changes_takes_no_part() -> None:
    stream = ContractStream()
    stream.happen("tokenAssociate", {}, sidecars=[state(number=OTHER)])
    with settings(persist__entityTransactions=True):
        load(stream.block())

    assert stored("contract_transaction", "entity_id") == []
    assert (OTHER,) not in stored("entity_transaction", "entity_id")


@pytest.mark.checklist("CON-19")
def test_logs_of_a_result_without_a_contract_have_no_root() -> None:
    stream = ContractStream()
    stream.ethereum(ethereum_data(), function_result(0, logInfo=[log(OTHER)]))
    load(stream.block())

    assert stored("contract_result", "contract_id") == [(0,)]
    assert stored("contract_log", "contract_id, root_contract_id") == [(OTHER, None)]


@pytest.mark.checklist("LUT-01")
def test_contracts_take_part_in_the_transaction() -> None:
    stream = ContractStream()
    ran = function_result(logInfo=[log(OTHER)], sender_id=account(1005))
    action = TOP | {"recipient_contract": contract(OTHER + 2)}
    sidecars = [state(change(b"\1", b""), number=OTHER + 1), actions(action)]
    stream.call(ran=ran, sidecars=sidecars)
    with settings(persist__entityTransactions=True):
        load(stream.block())

    touched = {entity for (entity,) in stored("entity_transaction", "entity_id")}
    assert {CALLER, 1005, CONTRACT, OTHER, OTHER + 1, OTHER + 2} <= touched
