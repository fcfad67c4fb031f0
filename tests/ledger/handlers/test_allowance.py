"""Allowances of hbar, and the hbar transfers a body asks for."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import Key
from mirror.demo.streams.record_files import SUCCESS
from tests.ledger.compose import INSUFFICIENT_PAYER_BALANCE, KEY, Stream, num, receipt
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

COLUMNS = "owner, spender, amount, amount_granted, payer_account_id, timestamp_range"
ALIAS = Key(**KEY).SerializeToString()


def approve(stream: Stream, *allowances: tuple[Any, int, int], **options: Any) -> int:
    """(owner AccountID or None, spender, amount)."""
    listed = [
        {"spender": num(spender), "amount": amount} | ({"owner": owner} if owner else {})
        for owner, spender, amount in allowances
    ]
    return stream.happen("cryptoApproveAllowance", {"cryptoAllowances": listed}, **options)


def spend(stream: Stream, owner: dict[str, Any], amount: int, spender: int, **options: Any) -> int:
    requested = [
        {"accountID": owner, "amount": -amount, "is_approval": True},
        {"accountID": num(spender), "amount": amount},
    ]
    return stream.happen(
        "cryptoTransfer", {"transfers": {"accountAmounts": requested}}, payer=spender, **options
    )


@pytest.mark.checklist("CRY-20")
def test_a_grant_ends_the_previous_one() -> None:
    stream = Stream()
    first = approve(stream, (num(1001), 1002, 50), payer=1001)
    block = stream.block()
    second = approve(stream, (num(1001), 1002, 70), payer=1003)

    load_in_any_batches(block, stream.block())

    assert stored("crypto_allowance", COLUMNS) == [(1001, 1002, 70, 70, 1003, f"[{second},)")]
    assert stored("crypto_allowance_history", COLUMNS) == [(1001, 1002, 50, 50, 1001, f"[{first},{second})")]


@pytest.mark.checklist("CRY-18")
def test_the_last_entry_of_a_pair_counts() -> None:
    stream = Stream()
    at = approve(stream, (num(1001), 1002, 50), (num(1001), 1003, 1), (num(1001), 1002, 60), payer=9)

    load(stream.block())

    assert stored("crypto_allowance", COLUMNS) == [
        (1001, 1002, 60, 60, 9, f"[{at},)"),
        (1001, 1003, 1, 1, 9, f"[{at},)"),
    ]
    assert stored("crypto_allowance_history", COLUMNS) == []


@pytest.mark.checklist("CRY-19", "ID-06")
def test_no_owner_means_the_payer_and_an_unknown_one_is_skipped() -> None:
    stream = Stream()
    stream.happen("cryptoCreateAccount", {"alias": ALIAS}, receipt(accountID=num(1005)))
    approve(stream, (None, 1002, 5), ({"alias": ALIAS}, 1002, 6), ({"alias": b"who"}, 1002, 7), payer=1001)

    load(stream.block())

    assert stored("crypto_allowance", "owner, amount") == [(1001, 5), (1005, 6)]


@pytest.mark.checklist("CRY-21")
def test_row_of_a_zero_grant_stays() -> None:
    stream = Stream()
    approve(stream, (num(1001), 1002, 50))
    first = stream.block()
    approve(stream, (num(1001), 1002, 0))

    load_in_any_batches(first, stream.block())

    assert stored("crypto_allowance", "owner, spender, amount, amount_granted") == [(1001, 1002, 0, 0)]


def test_a_failed_grant_writes_nothing() -> None:
    stream = Stream()
    approve(stream, (num(1001), 1002, 50), result=INSUFFICIENT_PAYER_BALANCE)

    load(stream.block())

    assert stored("crypto_allowance", "owner") == []


@pytest.mark.checklist("XFER-22")
@pytest.mark.parametrize(
    ("record", "left"),
    [
        ({"contractCallResult": {"sender_id": num(2001)}}, (100, 90)),
        ({"contractCreateResult": {"sender_id": num(2001)}}, (100, 90)),
        ({"contractCallResult": {"gasUsed": 5}}, (90, 100)),
        ({}, (90, 100)),
    ],
    ids=["called", "created", "by nobody", "payer"],
)
def test_a_contract_spends_its_own_allowance_not_that_of_the_payer(
    record: dict[str, Any], left: tuple[int, int]
) -> None:
    stream = Stream()
    approve(stream, (num(1001), 1002, 100), (num(1001), 2001, 100), payer=1001)
    spend(stream, num(1001), 10, 1002, record=record)
    load(stream.block())

    assert stored("crypto_allowance", "spender, amount") == [(1002, left[0]), (2001, left[1])]


@pytest.mark.checklist("XFER-22", "MRG-04")
def test_approved_debits_lower_the_allowance_of_the_payer() -> None:
    stream = Stream()
    granted = approve(stream, (num(1001), 1002, 50), payer=1001)
    first = stream.block()
    spend(stream, num(1001), 20, 1002)
    second = stream.block()
    spend(stream, num(1001), 10, 1002)
    spend(stream, num(1001), 5, 1002, result=INSUFFICIENT_PAYER_BALANCE)
    spend(stream, num(1001), 7, 1003)

    load_in_any_batches(first, second, stream.block())

    assert stored("crypto_allowance", COLUMNS) == [(1001, 1002, 20, 50, 1002, f"[{granted},)")]


def test_the_history_of_a_grant_has_the_amount_left() -> None:
    stream = Stream()
    granted = approve(stream, (num(1001), 1002, 50), payer=1001)
    first = stream.block()
    spend(stream, num(1001), 20, 1002)
    again = approve(stream, (num(1001), 1002, 90), payer=1001)
    spend(stream, num(1001), 1, 1002)

    load_in_any_batches(first, stream.block())

    assert stored("crypto_allowance", COLUMNS) == [(1001, 1002, 89, 90, 1002, f"[{again},)")]
    assert stored("crypto_allowance_history", COLUMNS) == [(1001, 1002, 30, 50, 1002, f"[{granted},{again})")]


@pytest.mark.checklist("XFER-24", "MRG-01")
def test_a_debit_without_an_allowance_is_dropped() -> None:
    stream = Stream()
    spend(stream, num(1001), 20, 1002)

    load(stream.block())

    assert stored("crypto_allowance", "owner") == []
    assert stored("crypto_allowance_history", "owner") == []


def test_an_owner_is_found_by_alias() -> None:
    stream = Stream()
    stream.happen("cryptoCreateAccount", {"alias": ALIAS}, receipt(accountID=num(1001)))
    approve(stream, (num(1001), 1002, 50))
    spend(stream, {"alias": ALIAS}, 20, 1002)

    load(stream.block())

    assert stored("crypto_allowance", "amount") == [(30,)]


def test_allowances_are_not_lowered_if_not_configured() -> None:
    stream = Stream()
    approve(stream, (num(1001), 1002, 50))
    spend(stream, num(1001), 20, 1002)

    with settings(persist__trackAllowance=False):
        load(stream.block())

    assert stored("crypto_allowance", "amount") == [(50,)]


@pytest.mark.checklist("TX-17", "ENC-06")
@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("result", [SUCCESS, INSUFFICIENT_PAYER_BALANCE])
def test_requested_transfers_are_itemized_if_configured(wanted: bool, result: int) -> None:
    stream = Stream()
    stream.happen("cryptoCreateAccount", {"alias": ALIAS}, receipt(accountID=num(1001)))
    requested = [
        {"accountID": {"alias": ALIAS}, "amount": -5, "is_approval": True},
        {"accountID": {"alias": b"who"}, "amount": 2},
        {"accountID": num(1002), "amount": 3},
    ]
    stream.happen("cryptoTransfer", {"transfers": {"accountAmounts": requested}}, result=result)

    with settings(persist__itemizedTransfers=wanted):
        load(stream.block())

    expected = [
        {"amount": -5, "entity_id": 1001, "is_approval": True},
        {"amount": 3, "entity_id": 1002, "is_approval": False},
    ]
    kept = wanted and result == SUCCESS
    assert stored("transaction", "itemized_transfer", "type = 14") == [(expected if kept else None,)]
