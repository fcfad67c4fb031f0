"""Allowances of tokens and serials: granted, used, replaced, revoked."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import AccountID, Key
from mirror.demo.streams.record_files import TREASURY, account
from tests.ledger.ingest.load import load, load_in_any_batches, stored
from tests.tokens.compose import KEY, OTHER_KEY, TokenStream, serials, token, units

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN, NFT = 5000, 5001
COLUMNS = "owner, spender, token_id, amount, amount_granted, payer_account_id, timestamp_range"
NFT_COLUMNS = "owner, spender, token_id, approved_for_all, payer_account_id, timestamp_range"
SERIAL = "serial_number, account_id, spender, delegating_spender, timestamp_range"


def fungible(amount: int, *, owner: Any = None, spender: int = 1002) -> dict[str, Any]:
    given = account(1001) if owner is None else owner
    return {"tokenId": token(TOKEN), "owner": given, "spender": account(spender), "amount": amount}


def serial_allowance(*numbers: int, owner: int = 1001, spender: int = 1002, **more: Any) -> dict[str, Any]:
    return {
        "tokenId": token(NFT),
        "owner": account(owner),
        "spender": account(spender),
        "serial_numbers": numbers,
    } | more


def approve(
    stream: TokenStream, *tokens: dict[str, Any], nfts: tuple[dict[str, Any], ...] = (), **options: Any
) -> int:
    body = {"tokenAllowances": tokens, "nftAllowances": nfts}
    return stream.happen("cryptoApproveAllowance", body, **options)


@pytest.mark.checklist("CRY-22", "MRG-02")
def test_a_new_grant_replaces_the_previous_one() -> None:
    stream = TokenStream()
    first = approve(stream, fungible(10), payer=1001)
    block = stream.block()
    second = approve(stream, fungible(20), payer=1005)
    load_in_any_batches(block, stream.block())

    assert stored("token_allowance", COLUMNS) == [(1001, 1002, TOKEN, 20, 20, 1005, f"[{second},)")]
    assert stored("token_allowance_history", COLUMNS) == [
        (1001, 1002, TOKEN, 10, 10, 1001, f"[{first},{second})")
    ]


@pytest.mark.checklist("CRY-21")
def test_a_grant_of_zero_revokes_and_is_stored() -> None:
    stream = TokenStream()
    approve(stream, fungible(10))
    revoked = approve(stream, fungible(0))
    load(stream.block())

    assert stored("token_allowance", "amount, amount_granted, timestamp_range") == [(0, 0, f"[{revoked},)")]


@pytest.mark.checklist("CRY-18")
def test_the_last_of_repeated_grants_counts() -> None:
    stream = TokenStream()
    stream.create_nft(NFT)
    at = approve(
        stream,
        fungible(10),
        fungible(20),
        fungible(5, spender=1003),
        nfts=(
            serial_allowance(1, 2, spender=1007),
            serial_allowance(1, spender=1008, approved_for_all={"value": True}),
            serial_allowance(spender=1008, approved_for_all={"value": False}),
        ),
    )
    load(stream.block())

    assert stored("token_allowance", "spender, amount") == [(1002, 20), (1003, 5)]
    assert stored("token_allowance_history", "spender") == []
    assert stored("nft_allowance", NFT_COLUMNS) == [(1001, 1008, NFT, False, TREASURY, f"[{at},)")]
    assert stored("nft", SERIAL) == [(1, 1001, 1008, None, f"[{at},)"), (2, 1001, 1007, None, f"[{at},)")]


@pytest.mark.checklist("CRY-19", "ID-06")
def test_the_payer_is_the_owner_unless_one_is_named_who_must_be_known() -> None:
    alias = bytes(Key(**KEY).SerializeToString())
    unknown = AccountID(alias=bytes(Key(**OTHER_KEY).SerializeToString()))
    stream = TokenStream()
    stream.happen("cryptoCreateAccount", {"alias": alias}, receipt={"accountID": account(1009)})
    grants = [fungible(1), fungible(2, owner=AccountID()), fungible(3, owner=AccountID(alias=alias))]
    del grants[0]["owner"]
    grants[0]["spender"] = account(1003)
    approve(stream, *grants, fungible(4, owner=unknown), payer=1005)
    approve(stream, nfts=(serial_allowance(1) | {"owner": unknown},))
    load(stream.block())

    assert stored("token_allowance", "owner, spender, amount") == [
        (1005, 1002, 2),
        (1005, 1003, 1),
        (1009, 1002, 3),
    ]
    assert stored("nft", "serial_number") == []


@pytest.mark.checklist("CRY-23")
def test_a_spender_of_a_serial_starts_a_version_of_it() -> None:
    stream = TokenStream()
    stream.create_nft(NFT, treasury=1001)
    minted = stream.mint_serials(NFT, 1, treasury=1001)
    block = stream.block()
    first = approve(stream, nfts=(serial_allowance(1, delegating_spender=account(1006)),))
    second = approve(stream, nfts=(serial_allowance(1, spender=1003),))
    load_in_any_batches(block, stream.block())

    assert stored("nft", SERIAL) == [(1, 1001, 1003, None, f"[{second},)")]
    assert stored("nft_history", SERIAL) == [
        (1, 1001, None, None, f"[{minted},{first})"),
        (1, 1001, 1002, 1006, f"[{first},{second})"),
    ]


@pytest.mark.checklist("CRY-23")
def test_unknown_alias_of_a_spender_changes_nothing() -> None:
    stream = TokenStream()
    stream.create_nft(NFT, treasury=1001)
    stream.mint_serials(NFT, 1, treasury=1001)
    approve(stream, nfts=(serial_allowance(1, delegating_spender=account(1006)),))
    block = stream.block()
    again = approve(stream, nfts=(serial_allowance(1) | {"spender": {"alias": b"unknown"}},))
    load_in_any_batches(block, stream.block())

    assert stored("nft", SERIAL) == [(1, 1001, 1002, None, f"[{again},)")]


@pytest.mark.checklist("CRY-25")
def test_deleting_an_allowance_does_not_change_the_owner() -> None:
    stream = TokenStream()
    stream.create_nft(NFT, treasury=1001)
    stream.mint_serials(NFT, 1, treasury=1001)
    block = stream.block()
    removals = [{"token_id": token(NFT), "owner": account(1005), "serial_numbers": [1, 2]}]
    at = stream.happen("cryptoDeleteAllowance", {"nftAllowances": removals})
    load_in_any_batches(block, stream.block())

    assert stored("nft", SERIAL) == [(1, 1001, None, None, f"[{at},)"), (2, None, None, None, f"[{at},)")]


@pytest.mark.checklist("CRY-24")
def test_an_allowance_of_all_serials_is_given_and_taken() -> None:
    stream = TokenStream()
    given = approve(stream, nfts=(serial_allowance(approved_for_all={"value": True}),))
    block = stream.block()
    taken = approve(stream, nfts=(serial_allowance(approved_for_all={}),), payer=1001)
    load_in_any_batches(block, stream.block())

    assert stored("nft_allowance", NFT_COLUMNS) == [(1001, 1002, NFT, False, 1001, f"[{taken},)")]
    assert stored("nft_allowance_history", NFT_COLUMNS) == [
        (1001, 1002, NFT, True, TREASURY, f"[{given},{taken})")
    ]


@pytest.mark.checklist("CRY-25")
def test_a_deleted_allowance_clears_the_spenders() -> None:
    stream = TokenStream()
    stream.create_nft(NFT, treasury=1001)
    stream.mint_serials(NFT, 1, 2, treasury=1001)
    given = approve(stream, nfts=(serial_allowance(1, 2, delegating_spender=account(1006)),))
    block = stream.block()
    removals = [{"token_id": token(NFT), "owner": account(1001), "serial_numbers": [1]}]
    first = stream.happen("cryptoDeleteAllowance", {"nftAllowances": removals})
    removals = [{"token_id": token(NFT), "serial_numbers": [2]}]
    second = stream.happen("cryptoDeleteAllowance", {"nftAllowances": removals}, payer=1001)
    load_in_any_batches(block, stream.block())

    assert stored("nft", SERIAL) == [
        (1, 1001, None, None, f"[{first},)"),
        (2, 1001, None, None, f"[{second},)"),
    ]
    assert stored("nft_history", SERIAL, "spender is not null") == [
        (1, 1001, 1002, 1006, f"[{given},{first})"),
        (2, 1001, 1002, 1006, f"[{given},{second})"),
    ]


@pytest.mark.checklist("CRY-22", "CRY-23", "CRY-24", "CRY-25")
def test_failed_allowances_write_nothing() -> None:
    stream = TokenStream()
    approve(stream, fungible(1), nfts=(serial_allowance(1, approved_for_all={"value": True}),), result=7)
    removals = [{"token_id": token(NFT), "serial_numbers": [2]}]
    stream.happen("cryptoDeleteAllowance", {"nftAllowances": removals}, result=7)
    load(stream.block())

    assert stored("token_allowance", "owner") == stored("nft_allowance", "owner") == []
    assert stored("nft", "serial_number") == []


def use(stream: TokenStream, amount: int, *, payer: int = 1002, **options: Any) -> int:
    moved = units(TOKEN, {1001: -amount, 1003: amount}, approved=True)
    return stream.transfer(moved, payer=payer, **options)


@pytest.mark.checklist("XFER-23", "MRG-01")
def test_an_approved_debit_uses_the_allowance_without_a_version() -> None:
    stream = TokenStream()
    granted = approve(stream, fungible(100), payer=1001)
    use(stream, 10)
    block = stream.block()
    use(stream, 20)
    use(stream, 1, payer=1004)
    load_in_any_batches(block, stream.block())

    assert stored("token_allowance", COLUMNS) == [(1001, 1002, TOKEN, 70, 100, 1002, f"[{granted},)")]
    assert stored("token_allowance_history", "owner") == []


@pytest.mark.checklist("XFER-23")
def test_without_a_caller_the_payer_spends() -> None:
    stream = TokenStream()
    approve(stream, fungible(100))
    use(stream, 10, record={"contractCallResult": {"gasUsed": 5}})
    load(stream.block())

    assert stored("token_allowance", "spender, amount") == [(1002, 90)]


@pytest.mark.checklist("XFER-24")
def test_a_debit_without_an_allowance_leaves_no_trace() -> None:
    stream = TokenStream()
    use(stream, 10)
    granted = approve(stream, fungible(100))
    load_in_any_batches(stream.block())

    assert stored("token_allowance", "amount, timestamp_range") == [(100, f"[{granted},)")]
    assert stored("token_allowance_history", "owner") == []


def test_a_failed_transfer_uses_no_allowance() -> None:
    stream = TokenStream()
    approve(stream, fungible(100))
    use(stream, 10, result=292)
    load(stream.block())

    assert stored("token_allowance", "amount") == [(100,)]


def test_a_serial_transferred_by_its_spender_has_no_spender() -> None:
    stream = TokenStream()
    stream.create_nft(NFT, treasury=1001)
    stream.mint_serials(NFT, 1, treasury=1001)
    approve(stream, nfts=(serial_allowance(1),))
    moved = stream.transfer(serials(NFT, (1, 1001, 1003), approved=True), payer=1002)
    load(stream.block())

    assert stored("nft", SERIAL) == [(1, 1003, None, None, f"[{moved},)")]
