"""Token transfers, automatic associations and assessed custom fees of any transaction."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import AccountAmount, AccountID, TokenTransferList
from mirror.demo.streams.record_files import TREASURY, account
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored
from tests.tokens.compose import TokenStream, serials, token, units

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = 5000
FAIL_INVALID = 23


@pytest.mark.checklist("XFER-07", "XFER-09")
def test_token_transfers_are_rows_and_move_balances() -> None:
    stream = TokenStream()
    stream.create(TOKEN, supply=100)
    stream.create(TOKEN + 1, supply=100)
    stream.associate(1001, TOKEN, TOKEN + 1)
    block = stream.block()
    stream.transfer(units(TOKEN, {TREASURY: -30, 1001: 30}), payer=1001)
    at = stream.transfer(
        units(TOKEN, {1001: -10, TREASURY: 10}), units(TOKEN + 1, {TREASURY: -5, 1001: 5}), payer=1001
    )
    load_in_any_batches(block, stream.block())

    assert stored(
        "token_transfer",
        "token_id, account_id, amount, is_approval, payer_account_id",
        f"consensus_timestamp = {at}",
    ) == [
        (TOKEN, TREASURY, 10, False, 1001),
        (TOKEN, 1001, -10, False, 1001),
        (TOKEN + 1, TREASURY, -5, False, 1001),
        (TOKEN + 1, 1001, 5, False, 1001),
    ]
    assert stored("token_account", "account_id, token_id, balance, balance_timestamp, associated") == [
        (TREASURY, TOKEN, 80, at, True),
        (TREASURY, TOKEN + 1, 95, at, True),
        (1001, TOKEN, 20, at, True),
        (1001, TOKEN + 1, 5, at, True),
    ]
    assert stored("token_account_history", "account_id") == []


@pytest.mark.checklist("XFER-07", "XFER-15", "XFER-16")
@pytest.mark.parametrize(("result", "kept"), [(FAIL_INVALID, True), (7, False)])
def test_transfers_before_an_internal_failure_count(result: int, kept: bool) -> None:
    stream = TokenStream()
    stream.create(TOKEN, supply=100)
    stream.create_nft(TOKEN + 1)
    at = stream.transfer(
        units(TOKEN, {TREASURY: -30, 1001: 30}),
        serials(TOKEN + 1, (1, TREASURY, 1001)),
        associated=[(1001, TOKEN)],
        record={"assessed_custom_fees": [{"amount": 3, "fee_collector_account_id": account(1002)}]},
        result=result,
    )
    load(stream.block())

    where = f"consensus_timestamp = {at}"
    assert bool(stored("token_transfer", "amount", where)) == kept
    assert bool(stored("token_account", "balance", "account_id = 1001")) == kept
    assert bool(stored("nft", "account_id")) == kept
    assert bool(stored("assessed_custom_fee", "amount")) == kept
    assert stored("transaction", "nft_transfer", where)[0][0] is not None or not kept


BY_ALIAS = AccountAmount(accountID=AccountID(alias=b"alias"), amount=-10, is_approval=True)


def asked(*transfers: tuple[int, int, bool], number: int = TOKEN) -> Any:
    return TokenTransferList(
        token=token(number),
        transfers=[
            AccountAmount(accountID=account(holder), amount=amount, is_approval=approved)
            for holder, amount, approved in transfers
        ],
    )


@pytest.mark.checklist("XFER-08")
@pytest.mark.parametrize(
    ("requested", "is_approval"),
    [
        ([asked((1001, -10, True))], True),
        ([asked((1001, -12, True))], True),
        ([asked((1001, -10, False))], False),
        ([asked((1001, -10, False), (1001, -2, True))], False),
        ([asked((1002, -10, True))], False),
        ([asked((1001, -10, True), number=TOKEN + 1)], False),
        ([TokenTransferList(token=token(TOKEN), transfers=[BY_ALIAS])], False),
    ],
    ids=[
        "the same transfer approved",
        "of another amount approved",
        "not approved",
        "the very transfer not approved, another one approved",
        "of another account approved",
        "of another token approved",
        "given by alias",
    ],
)
def test_a_debit_says_whether_it_was_approved(requested: list[Any], is_approval: bool) -> None:
    stream = TokenStream()
    stream.happen(
        "cryptoTransfer", {"tokenTransfers": requested}, units(TOKEN, {1001: -10, 1003: 10}), payer=1002
    )
    load(stream.block())

    assert stored("token_transfer", "account_id, is_approval") == [(1001, is_approval), (1003, False)]


@pytest.mark.checklist("XFER-09", "MRG-01")
def test_a_balance_of_an_unknown_relationship_is_dropped() -> None:
    stream = TokenStream()
    stream.transfer(units(TOKEN, {1001: -10, 1003: 10}))
    associated = stream.associate(1003, TOKEN)
    stream.transfer(units(TOKEN, {1001: -1, 1003: 1}))
    load_in_any_batches(stream.block())

    assert stored("token_account", "account_id, balance, timestamp_range") == [(1003, 1, f"[{associated},)")]
    assert len(stored("token_transfer", "amount")) == 4


@pytest.mark.checklist("XFER-09")
def test_the_receiver_of_a_token_is_associated() -> None:
    stream = TokenStream()
    began = stream.associate(1001, TOKEN)
    block = stream.block()
    stream.happen("tokenDissociate", {"account": account(1001), "tokens": [token(TOKEN)]})
    stream.transfer(units(TOKEN, {1002: -10, 1001: 10}))
    load_in_any_batches(block, stream.block())

    assert stored("token_account", "associated, balance, created_timestamp") == [(True, 10, began)]


@pytest.mark.checklist("XFER-15", "MRG-09")
def test_an_automatic_association_precedes_the_transfer_that_causes_it() -> None:
    stream = TokenStream()
    stream.create(TOKEN, supply=100)
    at = stream.transfer(units(TOKEN, {TREASURY: -30, 1001: 30}), associated=[(1001, TOKEN)])
    load_in_any_batches(stream.block())

    assert stored(
        "token_account",
        "associated, automatic_association, balance, balance_timestamp, created_timestamp, freeze_status, "
        "timestamp_range",
        "account_id = 1001",
    ) == [(True, True, 30, at, at, None, f"[{at},)")]


@pytest.mark.checklist("XFER-16")
def test_assessed_fees_are_rows() -> None:
    fees = [
        {"amount": 3, "fee_collector_account_id": account(1002)},
        {
            "amount": 4,
            "fee_collector_account_id": account(1002),
            "token_id": token(TOKEN),
            "effective_payer_account_id": [account(1003), account(1004)],
        },
    ]
    stream = TokenStream()
    at = stream.transfer(record={"assessed_custom_fees": fees}, payer=1001)
    load(stream.block())

    assert stored(
        "assessed_custom_fee",
        "amount, collector_account_id, consensus_timestamp, effective_payer_account_ids, payer_account_id, "
        "token_id",
    ) == [(3, 1002, at, [], 1001, None), (4, 1002, at, [1003, 1004], 1001, TOKEN)]


@pytest.mark.checklist("LUT-01", "XFER-15", "XFER-16")
def test_all_participants_are_entities_of_the_transaction() -> None:
    stream = TokenStream()
    stream.transfer(
        units(TOKEN, {1001: -30, 1002: 30}),
        serials(TOKEN + 1, (1, 1003, 1004)),
        associated=[(1005, TOKEN + 2)],
        record={
            "assessed_custom_fees": [
                {
                    "amount": 4,
                    "fee_collector_account_id": account(1006),
                    "token_id": token(TOKEN + 3),
                    "effective_payer_account_id": [account(1007)],
                }
            ]
        },
        payer=1008,
        fee=0,
    )
    with settings(persist__entityTransactions=True):
        load(stream.block())

    mentioned = {entity for (entity,) in stored("entity_transaction", "entity_id")}
    assert mentioned >= {*range(1001, 1009), *range(TOKEN, TOKEN + 4)}


@pytest.mark.checklist("XFER-09", "CFG-01")
def test_token_balances_are_left_alone_when_they_are_not_tracked() -> None:
    stream = TokenStream()
    stream.create(TOKEN, supply=100)
    with settings(persist__trackBalance=False):
        load(stream.block())

    assert stored("token_account", "balance") == [(0,)]
    assert stored("token_transfer", "amount") == [(100,)]
