"""The row of every transaction, and the rows by which it is found."""

import hashlib

import pytest

from mirror.core.values.hapi import wire
from mirror.core.values.hapi.messages import CustomFeeLimit, Key, TransactionBody
from mirror.demo.streams.record_files import SUCCESS, transfer_list
from tests.ledger.compose import FAIL_INVALID, INSUFFICIENT_PAYER_BALANCE, KEY, Stream, num, seconds
from tests.ledger.ingest.load import load, settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")


# THE TRANSACTION ROW


@pytest.mark.checklist("TX-01", "TX-06", "TX-08", "TX-19")
def test_every_transaction_is_a_row_whatever_its_result() -> None:
    stream = Stream()
    first = stream.send({1001: -5, 1002: 5}, payer=1001)
    second = stream.send({1001: -5, 1002: 5}, payer=1001, result=INSUFFICIENT_PAYER_BALANCE)
    third = stream.send({1001: -5, 1002: 5}, payer=1001, result=450)

    load(stream.block())

    assert stored("transaction", "consensus_timestamp, index, result, errata") == [
        (first, 0, SUCCESS, None),
        (second, 1, INSUFFICIENT_PAYER_BALANCE, None),
        (third, 2, 450, None),
    ]


@pytest.mark.checklist("TX-02", "TX-03", "TX-09", "TX-10", "TX-11", "TX-21")
def test_the_row_has_the_fields_of_body_and_record() -> None:
    stream = Stream()
    at = stream.happen(
        "cryptoTransfer",
        whole={
            "transactionID": {"accountID": num(1001), "transactionValidStart": seconds(7), "nonce": 3},
            "nodeAccountID": num(3),
            "transactionFee": 500,
            "memo": "café",
            "transactionValidDuration": {"seconds": 90},
        },
        record={"transactionFee": 400, "transactionHash": bytes(range(48))},
    )

    load(stream.block())

    columns = (
        "consensus_timestamp, valid_start_ns, nonce, payer_account_id, node_account_id, max_fee, "
        "charged_tx_fee, memo, valid_duration_seconds, transaction_hash"
    )
    assert stored("transaction", columns) == [
        (at, 7, 3, 1001, 3, 500, 400, "café".encode(), 90, bytes(range(48)))
    ]


@pytest.mark.checklist("TX-10", "TX-21", "ENC-02")
def test_missing_fields_are_null() -> None:
    stream = Stream()
    body = TransactionBody(transactionID={"accountID": num(1001), "transactionValidStart": seconds(7)})
    body.uncheckedSubmit.SetInParent()
    body.nodeAccountID.accountNum = 0
    body.transactionValidDuration.seconds = 1
    stream.transaction(body, fee=0)
    block = stream.block()

    load(block)

    assert stored("transaction", "node_account_id, entity_id, parent_consensus_timestamp, batch_key") == [
        (None, None, None, None)
    ]


@pytest.mark.checklist("TX-04", "TX-05")
def test_a_child_has_its_parents_timestamp_and_a_scheduled_one_its_schedule() -> None:
    stream = Stream()
    parent = stream.happen("contractCall")
    stream.happen("cryptoCreateAccount", record={"parent_consensus_timestamp": seconds(parent)})
    stream.happen("cryptoTransfer", record={"scheduleRef": {"scheduleNum": 900}})

    load(stream.block())

    assert stored("transaction", "index, parent_consensus_timestamp, scheduled") == [
        (0, None, False),
        (1, parent, False),
        (2, None, True),
    ]


@pytest.mark.checklist("TX-07")
@pytest.mark.parametrize("result", [SUCCESS, INSUFFICIENT_PAYER_BALANCE])
@pytest.mark.parametrize(
    ("kind", "expected"), [("cryptoCreateAccount", 77), ("contractCreateInstance", 77), ("cryptoTransfer", 0)]
)
def test_the_initial_balance_of_failed_creations_is_stored(kind: str, expected: int, result: int) -> None:
    stream = Stream()
    stream.happen(kind, {"initialBalance": 77} if expected else {}, result=result)

    load(stream.block())

    assert stored("transaction", "initial_balance") == [(expected,)]


@pytest.mark.checklist("TX-12")
def test_raw_bytes_of_other_transactions_are_stored_if_configured() -> None:
    stream = Stream()
    stream.send({1001: -5, 1002: 5})
    block = stream.block()

    with settings(persist__transactionBytes=True, persist__transactionRecordBytes=True):
        load(block)

    sent = block.transactions[0]
    assert stored("transaction", "transaction_bytes, transaction_record_bytes") == [
        (sent.transaction_bytes, sent.record_bytes)
    ]


@pytest.mark.checklist("TX-13", "TX-14", "HCS-13")
def test_limits_of_custom_fees_and_the_batch_key_are_serialized() -> None:
    limits = [
        CustomFeeLimit(
            account_id=num(1001), fees=[{"amount": 5, "denominating_token_id": {"tokenNum": 800_1}}]
        ),
        CustomFeeLimit(account_id=num(1002), fees=[{"amount": 6}]),
    ]
    stream = Stream()
    of_batch = {"transactionID": {"nonce": 1}, "batch_key": Key(**KEY)}
    stream.happen("consensusSubmitMessage", whole={"max_custom_fees": limits, **of_batch})
    stream.happen("uncheckedSubmit")

    with settings(persist__entityTransactions=True):
        load(stream.block())

    assert stored("transaction", "index, max_custom_fees, batch_key") == [
        (0, [limit.SerializeToString() for limit in limits], Key(**KEY).SerializeToString()),
        (1, None, None),
    ]
    assert stored("entity_transaction", "entity_id", "entity_id > 1000") == [(1001,), (1002,), (8001,)]


@pytest.mark.checklist("TX-20", "TX-23")
def test_high_volume_and_its_price_are_stored() -> None:
    stream = Stream()
    record = {"high_volume_pricing_multiplier": 4000}
    stream.happen("cryptoTransfer", record=record, whole={"high_volume": True})
    stream.happen("cryptoTransfer")

    load(stream.block())

    columns = "index, high_volume, high_volume_pricing_multiplier, congestion_pricing_multiplier"
    assert stored("transaction", columns) == [(0, True, 4000, None), (1, False, 0, None)]


@pytest.mark.checklist("TX-22")
@pytest.mark.parametrize(
    "kind",
    [
        "state_signature_transaction",
        "hints_preprocessing_vote",
        "hints_key_publication",
        "hints_partial_signature",
        "history_proof_signature",
        "history_proof_key_publication",
        "history_proof_vote",
        "crs_publication",
        "migration_root_hash_vote",
    ],
)
def test_a_transaction_of_the_nodes_among_themselves_has_a_row_and_a_hash_alone(kind: str) -> None:
    stream = Stream()
    at = stream.happen(kind)

    load(stream.block())

    number = TransactionBody.DESCRIPTOR.fields_by_name[kind].number
    assert stored("transaction", "type, entity_id, result") == [(number, None, SUCCESS)]
    assert stored("transaction_hash", "consensus_timestamp") == [(at,)]
    assert stored("crypto_transfer", "amount") == []


@pytest.mark.checklist("PARSE-02")
def test_an_unknown_type_is_stored_with_its_number() -> None:
    stream = Stream()
    stream.transaction(TransactionBody.FromString(wire.length_delimited(901, b"")), fee=0)

    load(stream.block())

    assert stored("transaction", "type, entity_id") == [(901, None)]


@pytest.mark.checklist("PARSE-06", "ENC-01", "FILE-16")
def test_an_impossible_entity_is_null_and_the_transaction_is_stored() -> None:
    stream = Stream()
    stream.happen("cryptoUpdateAccount", {"accountIDToUpdate": {"realmNum": 70_000, "accountNum": 5}})

    load(stream.block())

    assert stored("transaction", "type, entity_id") == [(15, None)]
    assert stored("entity", "id") == []


# LOOKUPS


@pytest.mark.checklist("LUT-01")
def test_entities_of_a_transaction_are_stored_if_configured() -> None:
    stream = Stream()
    at = stream.send({1001: -6, 98: 3, 800: 1, 801: 1, 802: 1}, payer=1001)
    block = stream.block()

    with settings(persist__entityTransactions=True):
        load(block)

    columns = "consensus_timestamp, entity_id, payer_account_id, result, type"
    assert stored("entity_transaction", columns) == [
        (at, 3, 1001, SUCCESS, 14),
        (at, 1001, 1001, SUCCESS, 14),
    ]


@pytest.mark.checklist("LUT-01")
def test_entities_of_a_transaction_are_not_stored_by_default() -> None:
    stream = Stream()
    stream.send({1001: -5, 1002: 5})

    load(stream.block())

    assert stored("entity_transaction", "entity_id") == []


@pytest.mark.checklist("LUT-03")
def test_a_transaction_is_found_by_the_two_parts_of_its_hash() -> None:
    stream = Stream()
    whole, short = hashlib.sha384(b"a").digest(), hashlib.sha256(b"b").digest()
    at = stream.happen("cryptoTransfer", record={"transactionHash": whole}, payer=1001)
    other = stream.happen("cryptoTransfer", record={"transactionHash": short}, payer=1002)
    stream.happen("cryptoTransfer", record={"transactionHash": b"odd"})
    stream.happen("consensusSubmitMessage", {"topicID": {"topicNum": 1}})

    load(stream.block())

    assert stored("transaction_hash", "consensus_timestamp, hash, hash_suffix, payer_account_id") == [
        (at, whole[:32], whole[32:], 1001),
        (other, short, None, 1002),
    ]


@pytest.mark.checklist("LUT-03")
def test_hashes_are_left_out_if_not_configured() -> None:
    stream = Stream()
    stream.send({1001: -5, 1002: 5})

    with settings(persist__transactionHash=False):
        load(stream.block())

    assert stored("transaction_hash", "hash") == []


@pytest.mark.checklist("ENC-03", "ENC-04")
def test_times_saturate_and_nul_characters_are_replaced() -> None:
    stream = Stream()
    stream.happen(
        "cryptoUpdateAccount",
        {"accountIDToUpdate": num(1001), "expirationTime": {"seconds": 1 << 60}, "memo": {"value": "a\0b"}},
    )

    load(stream.block())

    assert stored("entity", "expiration_timestamp, memo") == [((1 << 63) - 1, "a\ufffdb")]


def test_a_transaction_with_fail_invalid_moves_hbar_only() -> None:
    stream = Stream()
    stream.create(1001, 10)
    stream.happen(
        "cryptoUpdateAccount",
        {"accountIDToUpdate": num(1001), "memo": {"value": "no"}},
        {"transferList": transfer_list({1001: -1, 98: 1})},
        result=FAIL_INVALID,
    )

    load(stream.block())

    assert stored("entity", "memo, balance") == [("", 9)]
