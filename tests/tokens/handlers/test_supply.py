"""Mint, burn and wipe of tokens and serials."""

from typing import Any

import pytest

from mirror.demo.streams.record_files import TREASURY, account
from tests.ledger.ingest.load import load, load_in_any_batches, stored
from tests.tokens.compose import TokenStream, serials, token, units

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = 5000
NFT_COLUMNS = "serial_number, account_id, deleted, metadata, spender, created_timestamp, timestamp_range"


@pytest.mark.checklist("TOK-15", "MRG-01")
def test_a_mint_sets_the_supply_without_a_version() -> None:
    stream = TokenStream()
    created = stream.create(TOKEN, supply=100)
    first = stream.block()
    stream.mint(TOKEN, 50, 150)
    load_in_any_batches(first, stream.block())

    assert stored("token", "initial_supply, total_supply, timestamp_range") == [(100, 150, f"[{created},)")]
    assert stored("token_history", "token_id") == []
    assert stored("token_account", "account_id, balance") == [(TREASURY, 150)]


@pytest.mark.checklist("TOK-44", "MRG-03")
def test_versions_of_one_batch_carry_the_minted_supply() -> None:
    stream = TokenStream()
    created = stream.create(TOKEN, supply=100)
    first = stream.block()
    stream.mint(TOKEN, 50, 150)
    updated = stream.happen("tokenUpdate", {"token": token(TOKEN), "name": "New"})
    load_in_any_batches(first, stream.block())

    columns = "name, total_supply, timestamp_range"
    assert stored("token", columns) == [("New", 150, f"[{updated},)")]
    assert stored("token_history", columns) == [("Token 5000", 150, f"[{created},{updated})")]


@pytest.mark.checklist("TOK-16", "TX-18")
def test_minted_serials_belong_to_the_receivers_in_the_record() -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    at = stream.mint_serials(TOKEN, 1, 2)
    load(stream.block())

    assert stored("nft", NFT_COLUMNS) == [
        (1, TREASURY, False, b"serial 1", None, at, f"[{at},)"),
        (2, TREASURY, False, b"serial 2", None, at, f"[{at},)"),
    ]
    assert stored("nft_history", "serial_number") == []
    assert stored("token", "total_supply") == [(2,)]
    assert stored("token_account", "account_id, balance") == [(TREASURY, 2)]
    assert stored("transaction", "nft_transfer", "type = 37") == [
        (
            [
                {
                    "is_approval": False,
                    "receiver_account_id": TREASURY,
                    "sender_account_id": None,
                    "serial_number": serial,
                    "token_id": TOKEN,
                }
                for serial in (1, 2)
            ],
        )
    ]


@pytest.mark.checklist("TOK-17")
def test_serials_without_metadata_are_not_minted() -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    stream.happen(
        "tokenMint",
        {"token": token(TOKEN), "metadata": [b"one"]},
        receipt={"newTotalSupply": 2, "serialNumbers": [1, 2]},
    )
    load(stream.block())

    assert stored("nft", "serial_number, metadata") == [(1, b"one")]
    assert stored("token", "total_supply") == [(2,)]


@pytest.mark.checklist("TOK-18", "XFER-13")
def test_burnt_serial_has_metadata_but_no_owner() -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    minted = stream.mint_serials(TOKEN, 1, 2)
    first = stream.block()
    burnt = stream.happen(
        "tokenBurn",
        {"token": token(TOKEN), "serialNumbers": [2]},
        serials(TOKEN, (2, TREASURY, 0)),
        receipt={"newTotalSupply": 1},
    )
    load_in_any_batches(first, stream.block())

    assert stored("nft", NFT_COLUMNS) == [
        (1, TREASURY, False, b"serial 1", None, minted, f"[{minted},)"),
        (2, None, True, b"serial 2", None, minted, f"[{burnt},)"),
    ]
    assert stored("nft_history", NFT_COLUMNS) == [
        (2, TREASURY, False, b"serial 2", None, minted, f"[{minted},{burnt})")
    ]
    assert stored("token", "total_supply") == [(1,)]
    assert stored("token_account", "account_id, balance") == [(TREASURY, 1)]


@pytest.mark.checklist("TOK-18")
def test_a_burn_of_units_lowers_supply_and_balance() -> None:
    stream = TokenStream()
    stream.create(TOKEN, supply=100)
    stream.happen(
        "tokenBurn",
        {"token": token(TOKEN), "amount": 30},
        units(TOKEN, {TREASURY: -30}),
        receipt={"newTotalSupply": 70},
    )
    load(stream.block())

    assert stored("token", "total_supply") == [(70,)]
    assert stored("token_account", "balance") == [(70,)]


@pytest.mark.checklist("TOK-19")
def test_a_wipe_takes_serials_from_any_account() -> None:
    stream = TokenStream()
    stream.create_nft(TOKEN)
    minted = stream.mint_serials(TOKEN, 1)
    stream.associate(1001, TOKEN)
    moved = stream.transfer(serials(TOKEN, (1, TREASURY, 1001)))
    first = stream.block()
    wiped = stream.happen(
        "tokenWipe",
        {"token": token(TOKEN), "account": account(1001), "serialNumbers": [1]},
        serials(TOKEN, (1, 1001, 0)),
        receipt={"newTotalSupply": 0},
    )
    load_in_any_batches(first, stream.block())

    assert stored("nft", NFT_COLUMNS) == [(1, None, True, b"serial 1", None, minted, f"[{wiped},)")]
    assert stored("nft_history", "account_id, timestamp_range") == [
        (TREASURY, f"[{minted},{moved})"),
        (1001, f"[{moved},{wiped})"),
    ]
    assert stored("token", "total_supply") == [(0,)]
    assert stored("token_account", "account_id, balance") == [(TREASURY, 0), (1001, 0)]


@pytest.mark.checklist("TOK-15", "TOK-18", "TOK-19")
def test_a_failed_mint_burn_or_wipe_changes_nothing() -> None:
    failed: dict[str, Any] = {"result": 7}
    stream = TokenStream()
    stream.create_nft(TOKEN)
    stream.happen("tokenMint", {"token": token(TOKEN), "metadata": [b"x"]}, **failed)
    stream.happen("tokenBurn", {"token": token(TOKEN), "serialNumbers": [1]}, **failed)
    stream.happen("tokenWipe", {"token": token(TOKEN), "serialNumbers": [1]}, **failed)
    load(stream.block())

    assert stored("token", "total_supply") == [(0,)]
    assert stored("nft", "serial_number") == []


@pytest.mark.checklist("MRG-08")
def test_the_supply_of_an_unknown_token_is_not_stored() -> None:
    stream = TokenStream()
    stream.mint(TOKEN, 50, 150)
    load(stream.block())

    assert stored("token", "token_id") == []
