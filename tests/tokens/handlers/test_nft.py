"""Serials: transferred, approved, given metadata, moved with their treasury, in any order."""

from collections.abc import Sequence

import pytest
from django.db import connection

from mirror.demo.streams.record_files import TREASURY, account
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored
from tests.tokens.compose import ALL_SERIALS, TokenStream, serials, token
from tokens.handlers.nft import MAX_LISTED

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = 5000
COLUMNS = "serial_number, account_id, spender, delegating_spender, metadata, timestamp_range"


def approve(stream: TokenStream, serial: int, *, owner: int, spender: int, delegating: int = 0) -> int:
    allowance = {
        "tokenId": token(TOKEN),
        "owner": account(owner),
        "spender": account(spender),
        "serial_numbers": [serial],
        "delegating_spender": account(delegating) if delegating else None,
    }
    return stream.happen("cryptoApproveAllowance", {"nftAllowances": [allowance]})


@pytest.mark.checklist("XFER-11", "XFER-12", "TX-18")
def test_a_transferred_serial_has_a_new_owner_and_no_spender() -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    minted = stream.mint_serials(TOKEN, 1)
    stream.associate(1001, TOKEN)
    approved = approve(stream, 1, owner=TREASURY, spender=1005, delegating=1006)
    first = stream.block()
    moved = stream.transfer(serials(TOKEN, (1, TREASURY, 1001)))
    load_in_any_batches(first, stream.block())

    assert stored("nft", COLUMNS) == [(1, 1001, None, None, b"serial 1", f"[{moved},)")]
    assert stored("nft_history", COLUMNS) == [
        (1, TREASURY, None, None, b"serial 1", f"[{minted},{approved})"),
        (1, TREASURY, 1005, 1006, b"serial 1", f"[{approved},{moved})"),
    ]
    assert stored("token_account", "account_id, balance, balance_timestamp") == [
        (TREASURY, 0, moved),
        (1001, 1, moved),
    ]


@pytest.mark.checklist("XFER-10", "TX-18")
def test_a_transfer_says_whether_it_was_approved() -> None:
    stream = TokenStream()
    asked = serials(TOKEN, (1, 1001, 1002), approved=True)
    more = serials(TOKEN + 1, (1, 1001, 1002), (3, 1001, 1003))
    stream.happen(
        "cryptoTransfer",
        {"tokenTransfers": [asked, more]},
        serials(TOKEN, (1, 1001, 1002), (2, 1001, 1002)),
        more,
    )
    load(stream.block())

    ((transfers,),) = stored("transaction", "nft_transfer")
    assert [(t["token_id"], t["serial_number"], t["is_approval"]) for t in transfers] == [
        (TOKEN, 1, True),
        (TOKEN, 2, False),
        (TOKEN + 1, 1, False),
        (TOKEN + 1, 3, False),
    ]


@pytest.mark.checklist("TX-18", "XFER-12")
def test_a_transaction_without_serials_has_no_nft_transfer() -> None:
    stream = TokenStream()
    stream.crypto_transfer({1001: -5, 1002: 5}, payer=1001)
    load(stream.block())

    assert stored("transaction", "nft_transfer") == [(None,)]


@pytest.mark.checklist("TOK-36", "MRG-10")
def test_the_last_receiver_in_one_record_owns_the_serial() -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    stream.mint_serials(TOKEN, 1)
    stream.associate(1001, TOKEN)
    stream.associate(1002, TOKEN)
    moved = stream.transfer(serials(TOKEN, (1, TREASURY, 1001), (1, 1001, 1002)))
    load(stream.block())

    assert stored("nft", "account_id, timestamp_range") == [(1002, f"[{moved},)")]
    assert len(stored("nft_history", "account_id")) == 1
    assert stored("token_account", "account_id, balance") == [(TREASURY, 0), (1001, 0), (1002, 1)]


@pytest.mark.checklist("TOK-35", "MRG-03", "MRG-11")
def test_a_serial_lives_a_whole_life_within_one_block() -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    stream.associate(1001, TOKEN)
    minted = stream.mint_serials(TOKEN, 1)
    approved = approve(stream, 1, owner=TREASURY, spender=1005)
    moved = stream.transfer(serials(TOKEN, (1, TREASURY, 1001)))
    burnt = stream.happen(
        "tokenWipe",
        {"token": token(TOKEN), "account": account(1001), "serialNumbers": [1]},
        serials(TOKEN, (1, 1001, 0)),
        receipt={"newTotalSupply": 0},
    )
    load(stream.block())

    columns = "account_id, spender, deleted, created_timestamp, timestamp_range"
    assert stored("nft", columns) == [(None, None, True, minted, f"[{burnt},)")]
    assert stored("nft_history", columns) == [
        (TREASURY, None, False, minted, f"[{minted},{approved})"),
        (TREASURY, 1005, False, minted, f"[{approved},{moved})"),
        (1001, None, False, minted, f"[{moved},{burnt})"),
    ]


@pytest.mark.checklist("TOK-33")
@pytest.mark.parametrize("one_batch", [True, False])
def test_new_metadata_leaves_owner_and_spenders(one_batch: bool) -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    stream.mint_serials(TOKEN, 1, 2)
    approved = approve(stream, 1, owner=TREASURY, spender=1005, delegating=1006)
    blocks = [stream.block()]
    updated = stream.happen(
        "token_update_nfts", {"token": token(TOKEN), "serial_numbers": [1], "metadata": {"value": b"new"}}
    )
    stream.happen("token_update_nfts", {"token": token(TOKEN), "serial_numbers": [2]})
    blocks.append(stream.block())
    if one_batch:
        load(*blocks)
    else:
        for block in blocks:
            load(block)

    assert stored("nft", COLUMNS, "serial_number = 1") == [(1, TREASURY, 1005, 1006, b"new", f"[{updated},)")]
    assert stored("nft_history", COLUMNS)[1:] == [
        (1, TREASURY, 1005, 1006, b"serial 1", f"[{approved},{updated})")
    ]


@pytest.mark.checklist("MRG-06", "MRG-07")
def test_a_transfer_of_an_unknown_serial_makes_a_partial_row() -> None:
    stream = TokenStream()
    moved = stream.transfer(serials(TOKEN, (1, 1001, 1002)))
    load(stream.block())

    columns = "account_id, created_timestamp, deleted, metadata, timestamp_range"
    assert stored("nft", columns) == [(1002, None, False, None, f"[{moved},)")]
    assert stored("token_account", "account_id") == []


def change_of_treasury(stream: TokenStream, *more: tuple[int, int, int]) -> int:
    return stream.happen(
        "tokenUpdate",
        {"token": token(TOKEN), "treasury": account(1002)},
        serials(TOKEN, (ALL_SERIALS, TREASURY, 1002), *more),
    )


@pytest.mark.checklist("XFER-14", "TOK-34", "FILE-17")
def test_a_new_treasury_gets_every_serial_of_the_previous_one() -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    minted = stream.mint_serials(TOKEN, 1, 2, 3)
    stream.associate(1001, TOKEN)
    stream.associate(1002, TOKEN)
    first = stream.block()
    sold = stream.transfer(serials(TOKEN, (1, TREASURY, 1001), (2, TREASURY, 1002)))
    approved = approve(stream, 3, owner=TREASURY, spender=1005)
    stream.mint_serials(TOKEN, 4, total=4)
    changed = change_of_treasury(stream)
    later = stream.transfer(serials(TOKEN, (4, 1002, 1001)))
    load_in_any_batches(first, stream.block())

    assert stored("nft", "serial_number, account_id, spender, timestamp_range") == [
        (1, 1001, None, f"[{sold},)"),
        (2, 1002, None, f"[{sold},)"),
        (3, 1002, None, f"[{changed},)"),
        (4, 1001, None, f"[{later},)"),
    ]
    assert stored("nft_history", "account_id, spender, timestamp_range", "serial_number = 3") == [
        (TREASURY, None, f"[{minted},{approved})"),
        (TREASURY, 1005, f"[{approved},{changed})"),
    ]
    assert stored("token_account", "account_id, balance, balance_timestamp") == [
        (TREASURY, 0, changed),
        (1001, 2, later),
        (1002, 2, later),
    ]
    assert stored("token", "treasury_account_id, timestamp_range") == [(1002, f"[{changed},)")]
    ((transfers,),) = stored("transaction", "nft_transfer", "type = 36")
    assert [(t["serial_number"], t["sender_account_id"], t["receiver_account_id"]) for t in transfers] == [
        (3, TREASURY, 1002),
        (4, TREASURY, 1002),
    ]


@pytest.mark.parametrize(
    ("count", "listed"), [(MAX_LISTED, range(1, MAX_LISTED + 1)), (MAX_LISTED + 1, [ALL_SERIALS])]
)
def test_of_a_new_treasury_not_too_many_serials_are_listed(count: int, listed: Sequence[int]) -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    stream.mint_serials(TOKEN, *range(1, count + 1))
    change_of_treasury(stream)
    load(stream.block())

    ((transfers,),) = stored("transaction", "nft_transfer", "type = 36")
    assert [transfer["serial_number"] for transfer in transfers] == list(listed)


@pytest.mark.checklist("XFER-14")
def test_transfers_after_a_change_of_treasury_move_no_balance() -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    stream.mint_serials(TOKEN, 1, 2)
    stream.associate(1001, TOKEN)
    stream.associate(1002, TOKEN)
    change_of_treasury(stream, (2, TREASURY, 1001))
    load(stream.block())

    assert stored("nft", "serial_number, account_id") == [(1, 1002), (2, 1001)]
    assert stored("token_account", "account_id, balance") == [(TREASURY, 0), (1001, 0), (1002, 1)]


@pytest.mark.checklist("XFER-12", "CFG-01")
def test_balances_are_left_alone_when_they_are_not_tracked() -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    stream.mint_serials(TOKEN, 1, 2)
    stream.associate(1002, TOKEN)
    stream.transfer(serials(TOKEN, (1, TREASURY, 1002)))
    change_of_treasury(stream)
    with settings(persist__trackBalance=False):
        load(stream.block())

    assert stored("nft", "serial_number, account_id") == [(1, 1002), (2, 1002)]
    assert stored("token_account", "account_id, balance") == [(TREASURY, 0), (1002, 0)]


def test_archived_serials_end_where_the_next_version_starts() -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    stream.mint_serials(TOKEN, 1, 2, 3)
    for serial in (1, 2, 3):
        for sender, receiver in ((TREASURY, 1001), (1001, 1002), (1002, TREASURY)):
            stream.transfer(serials(TOKEN, (serial, sender, receiver)))
    change_of_treasury(stream)
    load(stream.block())

    with connection.cursor() as cursor:
        cursor.execute(
            """
            select count(*) from (
                select upper(timestamp_range) as until, lead(lower(timestamp_range)) over (
                    partition by token_id, serial_number order by timestamp_range) as next_since
                from (select token_id, serial_number, timestamp_range from nft
                    union all select token_id, serial_number, timestamp_range from nft_history) versions
            ) neighbours where until is distinct from next_since"""
        )
        assert cursor.fetchone() == (0,)
