"""Hbar transfers and paid staking rewards."""

import pytest

from mirror.demo.streams.record_files import SUCCESS, transfer_list
from tests.ledger.compose import DAY, INSUFFICIENT_PAYER_BALANCE, Stream, num
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")


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


def test_the_account_that_collects_fees_has_what_records_say() -> None:
    """HIP-1259: fees go to 0.0.802, and once a day from there to nodes and to 98, 800 and 801."""
    stream = Stream()
    stream.create(802)
    stream.create(1001, 1_000)
    fee = stream.happen("cryptoTransfer", record={"transferList": transfer_list({1001: -90, 802: 90})})
    shares = {802: -90, 3: 30, 98: 20, 800: 20, 801: 20}
    daily = stream.happen(
        "cryptoTransfer", record={"transferList": transfer_list(shares)}, whole={"memo": "the day's fees"}
    )

    load_in_any_batches(stream.block())

    assert stored("crypto_transfer", "entity_id, amount", f"consensus_timestamp = {fee}") == [
        (802, 90),
        (1001, -90),
    ]
    assert stored("crypto_transfer", "entity_id, amount", f"consensus_timestamp = {daily}") == sorted(
        shares.items()
    )
    assert stored("entity", "id, balance", "id in (802, 1001)") == [(802, 0), (1001, 910)]


@pytest.mark.checklist("XFER-02")
def test_a_debit_is_approved_if_the_body_requests_its_account_and_amount() -> None:
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
def test_transfers_of_a_failed_transaction_of_2019_are_marked_and_move_no_balance() -> None:
    stream = Stream(start=1_570_000_000 * 10**9)
    stream.create(1001, 100)
    failed = stream.happen(
        "cryptoTransfer",
        {"transfers": transfer_list({1001: -90, 98: 90})},
        {"transferList": transfer_list({1001: -90, 98: 90, 3: 1})},
        result=INSUFFICIENT_PAYER_BALANCE,
    )
    stream.send({1001: -1, 98: 1})

    with settings(persist__entityTransactions=True, persist__entityTransactionExclusion=()):
        load(stream.block())

    named = stored("entity_transaction", "entity_id", f"consensus_timestamp = {failed}")
    assert {(98,), (1001,)} <= set(named)
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


@pytest.mark.parametrize("moved_later", [False, True])
def test_a_balance_moved_before_the_creation_has_the_time_of_the_transfer(moved_later: bool) -> None:
    stream = Stream()
    at = stream.send({1001: -5, 1002: 5})
    created = stream.create(1002)
    if moved_later:
        at = stream.send({1001: -1, 1002: 1})

    load(stream.block())

    assert stored("entity", "id, balance, balance_timestamp, created_timestamp") == [
        (1002, 6 if moved_later else 5, at, created)
    ]


@pytest.mark.checklist("XFER-06")
def test_without_hbar_transfers_there_are_no_balances() -> None:
    stream = Stream()
    stream.create(1001, 100)

    with settings(persist__cryptoTransferAmounts=False):
        load(stream.block())

    assert stored("crypto_transfer", "amount") == []
    assert stored("entity", "id, balance") == [(1001, 0)]


def test_balances_are_not_tracked_if_not_configured() -> None:
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
def test_staking_change_sets_its_own_period_start() -> None:
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
