"""The transaction row, hbar transfers, paid rewards, lookup rows."""

import hashlib

import pytest
from django.db import connection

from ledger.stream.compose import SUCCESS, transfer_list
from mirror.values import wire
from mirror.values.hapi import CustomFeeLimit, Key, Transaction, TransactionBody
from tests.ledger.compose import (
    DAY,
    FAIL_INVALID,
    INSUFFICIENT_PAYER_BALANCE,
    KEY,
    Stream,
    num,
    receipt,
    seconds,
)
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

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
def test_the_row_says_what_body_and_record_say() -> None:
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
def test_what_is_not_given_is_null() -> None:
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


@pytest.mark.checklist("TX-10")
def test_a_transaction_without_a_valid_duration_has_none() -> None:
    stream = Stream()
    stream.send({1001: -5, 1002: 5})
    stored_body = stream._transactions[-1].body
    stored_body.ClearField("transactionValidDuration")
    _replace_last(stream, stored_body)

    load(stream.block())

    assert stored("transaction", "valid_duration_seconds") == [(None,)]


def _replace_last(stream: Stream, body: TransactionBody) -> None:
    """Write the last transaction with this body as it is, which composing would have completed."""
    last = stream._transactions[-1]
    signed = Transaction(bodyBytes=body.SerializeToString()).SerializeToString()
    stream._transactions[-1] = type(last)(
        last.consensus_timestamp, body, last.record, signed, last.record_bytes
    )


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
    ("kind", "expected"),
    [("cryptoCreateAccount", 77), ("contractCreateInstance", 77), ("cryptoTransfer", 0)],
)
def test_the_initial_balance_is_kept_also_of_failures(kind: str, expected: int, result: int) -> None:
    stream = Stream()
    stream.happen(kind, {"initialBalance": 77} if expected else {}, result=result)

    load(stream.block())

    assert stored("transaction", "initial_balance") == [(expected,)]


@pytest.mark.checklist("TX-12", "NOD-06")
@pytest.mark.parametrize("result", [SUCCESS, INSUFFICIENT_PAYER_BALANCE])
def test_raw_bytes_are_kept_of_node_transactions(result: int) -> None:
    stream = Stream()
    for kind in ("nodeCreate", "nodeUpdate", "nodeDelete", "cryptoTransfer"):
        stream.happen(kind, result=result)
    block = stream.block()

    load(block)

    assert stored("transaction", "index, transaction_bytes, transaction_record_bytes") == [
        *((i, t.transaction_bytes, t.record_bytes) for i, t in enumerate(block.transactions[:3])),
        (3, None, None),
    ]


@pytest.mark.checklist("TX-12")
def test_raw_bytes_of_other_transactions_are_kept_if_wanted() -> None:
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


@pytest.mark.checklist("TX-20")
def test_there_is_no_column_for_high_volume_pricing() -> None:
    stream = Stream()
    stream.happen("cryptoTransfer", whole={"high_volume": True})

    load(stream.block())

    assert stored("transaction", "result") == [(SUCCESS,)]
    with connection.cursor() as cursor:
        cursor.execute("select * from transaction limit 0")
        assert "high_volume" not in {column.name for column in cursor.description}


@pytest.mark.checklist("PARSE-02")
def test_an_unknown_type_is_stored_with_its_number() -> None:
    stream = Stream()
    stream.transaction(TransactionBody.FromString(wire.length_delimited(901, b"")), fee=0)

    load(stream.block())

    assert stored("transaction", "type, entity_id") == [(901, None)]


@pytest.mark.checklist("PARSE-06", "ENC-01", "FILE-16")
def test_an_impossible_entity_is_none_and_the_transaction_is_stored() -> None:
    stream = Stream()
    stream.happen("cryptoUpdateAccount", {"accountIDToUpdate": {"realmNum": 70_000, "accountNum": 5}})

    load(stream.block())

    assert stored("transaction", "type, entity_id") == [(15, None)]
    assert stored("entity", "id") == []


@pytest.mark.checklist("PARSE-03")
@pytest.mark.parametrize(
    ("result", "updated"), [(22, True), (104, True), (220, True), (23, False), (21, False)]
)
def test_three_results_are_success(result: int, updated: bool) -> None:
    stream = Stream()
    stream.happen("cryptoUpdateAccount", {"accountIDToUpdate": num(1001)}, result=result)

    load(stream.block())

    assert bool(stored("entity", "id")) is updated


@pytest.mark.checklist("PARSE-04")
def test_a_child_of_a_failed_parent_changes_nothing() -> None:
    stream = Stream()
    parent = stream.happen("contractCall", result=33)
    stream.happen(
        "cryptoCreateAccount",
        record={"parent_consensus_timestamp": seconds(parent), **receipt(accountID=num(1001))},
    )

    load(stream.block())

    assert stored("entity", "id") == []


# HBAR TRANSFERS


@pytest.mark.checklist("XFER-01", "XFER-25")
def test_hbar_transfers_are_stored_with_their_payer_whatever_the_result() -> None:
    stream = Stream()
    moved = {"transferList": transfer_list({1001: -5, 1002: 5, 1003: 0})}
    first = stream.happen("cryptoTransfer", record=moved, payer=1001)
    second = stream.happen("cryptoTransfer", record=moved, payer=1001, result=INSUFFICIENT_PAYER_BALANCE)

    load(stream.block())

    columns = "consensus_timestamp, entity_id, amount, payer_account_id, is_approval, errata"
    assert stored("crypto_transfer", columns) == [
        (at, entity, amount, 1001, False, None)
        for at in (first, second)
        for entity, amount in ((1001, -5), (1002, 5), (1003, 0))
    ]


@pytest.mark.checklist("XFER-02")
def test_a_debit_is_by_approval_if_the_body_asks_for_this_account_and_amount() -> None:
    requested = [
        {"accountID": num(1001), "amount": -5, "is_approval": True},
        {"accountID": num(1002), "amount": -5, "is_approval": True},
        {"accountID": num(1003), "amount": 12, "is_approval": True},
        {"accountID": {"alias": b"someone"}, "amount": -2, "is_approval": True},
    ]
    stream = Stream()
    stream.happen(
        "cryptoTransfer",
        {"transfers": {"accountAmounts": requested}},
        {"transferList": transfer_list({1001: -5, 1002: -6, 1003: 12, 1004: -2})},
    )

    load(stream.block())

    assert stored("crypto_transfer", "entity_id, is_approval") == [
        (1001, True),
        (1002, False),
        (1003, False),
        (1004, False),
    ]


@pytest.mark.checklist("XFER-03", "ERR-03")
def test_transfers_a_failed_transaction_of_2019_lists_are_marked_and_move_no_balance() -> None:
    stream = Stream(start=1_570_000_000 * 10**9)
    stream.create(1001, 100)
    stream.happen(
        "cryptoTransfer",
        {"transfers": transfer_list({1001: -90, 98: 90})},
        {"transferList": transfer_list({1001: -90, 98: 90, 3: 1})},
        result=INSUFFICIENT_PAYER_BALANCE,
    )
    stream.send({1001: -1, 98: 1})

    load(stream.block())

    assert stored("crypto_transfer", "entity_id, amount, errata", "entity_id in (3, 98, 1001)") == [
        (3, 1, None),
        (98, 1, None),
        (98, 90, "DELETE"),
        (1001, -90, "DELETE"),
        (1001, -1, None),
        (1001, 100, None),
    ]
    assert stored("entity", "id, balance") == [(1001, 99)]


@pytest.mark.checklist("XFER-04", "XFER-05", "ENT-11", "CRY-05")
def test_a_transfer_moves_balances_of_stored_entities_and_starts_no_version() -> None:
    stream = Stream()
    created = stream.create(1001, 100)
    first = stream.block()
    stream.send({1001: -30, 1002: 30})
    moved = stream.send({1001: -20, 1002: 20})

    load_in_any_batches(first, stream.block())

    assert stored("entity", "id, balance, balance_timestamp, timestamp_range") == [
        (1001, 50, moved, f"[{created},)")
    ]
    assert stored("entity_history", "id") == []


@pytest.mark.checklist("XFER-06")
def test_without_hbar_transfers_there_are_no_balances() -> None:
    stream = Stream()
    stream.create(1001, 100)

    with settings(persist__cryptoTransferAmounts=False):
        load(stream.block())

    assert stored("crypto_transfer", "amount") == []
    assert stored("entity", "id, balance") == [(1001, 0)]


def test_balances_are_not_kept_if_not_wanted() -> None:
    stream = Stream()
    stream.create(1001, 100)

    with settings(persist__trackBalance=False):
        load(stream.block())

    assert stored("crypto_transfer", "amount") == [(-100,), (100,)]
    assert stored("entity", "id, balance") == [(1001, 0)]


# STAKING REWARDS


def rewarded(*accounts: int) -> dict[str, object]:
    return {"paid_staking_rewards": [{"accountID": num(account), "amount": 9} for account in accounts]}


@pytest.mark.checklist("XFER-17", "XFER-18")
@pytest.mark.parametrize("result", [SUCCESS, INSUFFICIENT_PAYER_BALANCE])
def test_a_paid_reward_starts_the_stake_period_yesterday(result: int) -> None:
    stream = Stream()
    created = stream.create(1001)
    paid = stream.happen("cryptoTransfer", record=rewarded(1001), payer=1002, result=result)

    load(stream.block())

    assert stored("staking_reward_transfer", "consensus_timestamp, account_id, amount, payer_account_id") == [
        (paid, 1001, 9, 1002)
    ]
    assert stored("entity", "id, stake_period_start, timestamp_range") == [
        (1001, paid // DAY - 1, f"[{paid},)")
    ]
    assert stored("entity_history", "id, stake_period_start, timestamp_range") == [
        (1001, -1, f"[{created},{paid})")
    ]


@pytest.mark.checklist("XFER-19")
def test_a_staking_change_in_the_same_transaction_keeps_its_own_period_start() -> None:
    stream = Stream()
    stream.create(1001)
    at = stream.happen(
        "cryptoUpdateAccount", {"accountIDToUpdate": num(1001), "staked_node_id": 4}, rewarded(1001)
    )

    load(stream.block())

    assert stored("entity", "stake_period_start, staked_node_id") == [(at // DAY, 4)]
    assert len(stored("entity_history", "id")) == 1


@pytest.mark.checklist("XFER-20")
def test_two_rewards_across_midnight_are_two_versions() -> None:
    stream = Stream(start=20_000 * DAY - 10_000)
    stream.create(1001)
    stream.happen("cryptoTransfer", record=rewarded(1001))
    stream.consensus_timestamp = 20_000 * DAY + 10
    stream.happen("cryptoTransfer", record=rewarded(1001))

    load(stream.block())

    assert stored("entity", "stake_period_start") == [(19_999,)]
    assert stored("entity_history", "stake_period_start") == [(-1,), (19_998,)]


@pytest.mark.checklist("XFER-21")
def test_a_reward_of_an_unknown_account_makes_an_entity_of_unknown_type() -> None:
    stream = Stream()
    stream.happen("cryptoTransfer", record=rewarded(1001))

    load(stream.block())

    assert stored("entity", "id, type, created_timestamp, deleted") == [(1001, "UNKNOWN", None, None)]


def test_an_entity_of_unknown_type_has_no_balance_until_its_type_is_known() -> None:
    stream = Stream()
    blocks = []
    stream.happen("cryptoTransfer", record=rewarded(1001))
    blocks.append(stream.block())
    stream.send({1001: 5, 2: -5})
    blocks.append(stream.block())
    stream.happen("cryptoUpdateAccount", {"accountIDToUpdate": num(1001)})
    stream.send({1001: 7, 2: -7})
    blocks.append(stream.block())
    stream.happen("cryptoUpdateAccount", {"accountIDToUpdate": num(1001)})
    stream.send({1001: 8, 2: -8})
    blocks.append(stream.block())

    load_in_any_batches(*blocks)

    assert stored("entity", "id, type, balance") == [(1001, "ACCOUNT", 15)]
    assert stored("entity_history", "type, balance") == [("ACCOUNT", 7), ("UNKNOWN", None)]


# LOOKUPS


@pytest.mark.checklist("LUT-01")
def test_entities_of_a_transaction_are_rows_if_wanted() -> None:
    stream = Stream()
    at = stream.send({1001: -5, 98: 3, 800: 1, 801: 1}, payer=1001)
    block = stream.block()

    with settings(persist__entityTransactions=True):
        load(block)

    columns = "consensus_timestamp, entity_id, payer_account_id, result, type"
    assert stored("entity_transaction", columns) == [
        (at, 3, 1001, SUCCESS, 14),
        (at, 1001, 1001, SUCCESS, 14),
    ]


@pytest.mark.checklist("LUT-01")
def test_entities_of_a_transaction_are_no_rows_by_default() -> None:
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
def test_hashes_are_left_out_if_not_wanted() -> None:
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
        {
            "accountIDToUpdate": num(1001),
            "expirationTime": {"seconds": 1 << 60},
            "memo": {"value": "a\0b"},
        },
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
