"""Airdrops: pending, repeated, cancelled, claimed."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import AccountID, Key
from mirror.demo.streams.record_files import TREASURY, account
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored
from tests.tokens.compose import KEY, OTHER_KEY, TokenStream, serials, token, units

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN, NFT = 5000, 5001
COLUMNS = "token_id, serial_number, sender_account_id, receiver_account_id, amount, state, timestamp_range"
RELATIONSHIP = "associated, automatic_association, balance, created_timestamp, timestamp_range"
ALIAS = bytes(Key(**KEY).SerializeToString())


def airdrop_id(number: int = TOKEN, serial: int = 0, *, receiver: Any = None) -> dict[str, Any]:
    given: dict[str, Any] = {
        "sender_id": account(TREASURY),
        "receiver_id": account(1001) if receiver is None else receiver,
    }
    if serial:
        return given | {"non_fungible_token": {"token_ID": token(number), "serial_number": serial}}
    return given | {"fungible_token_type": token(number)}


def airdrop(stream: TokenStream, *pending: tuple[dict[str, Any], int]) -> int:
    records = [
        {"pending_airdrop_id": identifier} | ({"pending_airdrop_value": {"amount": amount}} if amount else {})
        for identifier, amount in pending
    ]
    return stream.happen("tokenAirdrop", {}, record={"new_pending_airdrops": records})


def end(stream: TokenStream, kind: str, *identifiers: dict[str, Any], **options: Any) -> int:
    moved = options.pop("moved", ())
    return stream.happen(kind, {"pending_airdrops": identifiers}, *moved, **options)


@pytest.mark.checklist("TOK-37", "ENC-07")
def test_an_airdrop_waits_with_its_amount_or_its_serial() -> None:
    stream = TokenStream()
    at = airdrop(stream, (airdrop_id(), 5), (airdrop_id(NFT, 3), 0))
    load(stream.block())

    assert stored("token_airdrop", COLUMNS) == [
        (TOKEN, 0, TREASURY, 1001, 5, "PENDING", f"[{at},)"),
        (NFT, 3, TREASURY, 1001, None, "PENDING", f"[{at},)"),
    ]
    assert stored("transaction", "type, entity_id") == [(58, None)]


@pytest.mark.checklist("TOK-38", "MRG-02")
def test_a_repeated_airdrop_has_the_new_total() -> None:
    stream = TokenStream()
    first = airdrop(stream, (airdrop_id(), 5))
    block = stream.block()
    second = airdrop(stream, (airdrop_id(), 8))
    third = airdrop(stream, (airdrop_id(), 9))
    load_in_any_batches(block, stream.block())

    columns = "amount, state, timestamp_range"
    assert stored("token_airdrop", columns) == [(9, "PENDING", f"[{third},)")]
    assert stored("token_airdrop_history", columns) == [
        (5, "PENDING", f"[{first},{second})"),
        (8, "PENDING", f"[{second},{third})"),
    ]


@pytest.mark.checklist("TOK-39")
@pytest.mark.parametrize(
    ("kind", "state"), [("tokenCancelAirdrop", "CANCELLED"), ("tokenClaimAirdrop", "CLAIMED")]
)
def test_ended_airdrop_has_its_last_amount(kind: str, state: str) -> None:
    stream = TokenStream()
    stream.happen("cryptoCreateAccount", {"alias": ALIAS}, receipt={"accountID": account(1001)})
    began = airdrop(stream, (airdrop_id(), 5), (airdrop_id(NFT, 3), 0))
    block = stream.block()
    by_alias = AccountID(alias=ALIAS)
    unknown = AccountID(alias=bytes(Key(**OTHER_KEY).SerializeToString()))
    ended = end(stream, kind, airdrop_id(receiver=by_alias), airdrop_id(NFT, 3), airdrop_id(receiver=unknown))
    load_in_any_batches(block, stream.block())

    columns = "token_id, serial_number, receiver_account_id, amount, state, timestamp_range"
    assert stored("token_airdrop", columns) == [
        (TOKEN, 0, 1001, 5, state, f"[{ended},)"),
        (NFT, 3, 1001, None, state, f"[{ended},)"),
    ]
    assert stored("token_airdrop_history", columns) == [
        (TOKEN, 0, 1001, 5, "PENDING", f"[{began},{ended})"),
        (NFT, 3, 1001, None, "PENDING", f"[{began},{ended})"),
    ]


@pytest.mark.checklist("TOK-40")
def test_a_claim_associates_the_receiver() -> None:
    stream = TokenStream()
    stream.create(TOKEN, supply=100)
    airdrop(stream, (airdrop_id(), 5))
    block = stream.block()
    claimed = end(
        stream,
        "tokenClaimAirdrop",
        airdrop_id(),
        moved=[units(TOKEN, {TREASURY: -5, 1001: 5})],
        associated=[(1001, TOKEN)],
    )
    load_in_any_batches(block, stream.block())

    assert stored("token_account", RELATIONSHIP, "account_id = 1001") == [
        (True, False, 5, claimed, f"[{claimed},)")
    ]
    assert stored("token_account_history", "account_id") == []


@pytest.mark.checklist("TOK-40", "PERF-02")
@pytest.mark.parametrize("frozen", [True, False], ids=["partly in the batch", "stored"])
def test_a_claim_leaves_an_association_as_it_is(frozen: bool) -> None:
    stream = TokenStream()
    stream.create_nft(NFT)
    stream.mint_serials(NFT, 1)
    began = stream.associate(1001, NFT)
    block = stream.block()
    if frozen:
        stream.happen("tokenUnfreeze", {"account": account(1001), "token": token(NFT)})
    end(stream, "tokenClaimAirdrop", airdrop_id(NFT, 1), moved=[serials(NFT, (1, TREASURY, 1001))])
    later = stream.happen("tokenGrantKyc", {"account": account(1001), "token": token(NFT)})
    load_in_any_batches(block, stream.block())

    assert stored("token_account", RELATIONSHIP, "account_id = 1001") == [
        (True, False, 1, began, f"[{later},)")
    ]
    assert len(stored("token_account_history", "account_id", "account_id = 1001")) == 1 + frozen


@pytest.mark.checklist("TOK-40")
def test_a_claim_after_a_dissociation_in_the_same_batch_associates() -> None:
    stream = TokenStream()
    stream.create(TOKEN, supply=100)
    stream.associate(1001, TOKEN)
    ended = stream.happen("tokenDissociate", {"account": account(1001), "tokens": [token(TOKEN)]})
    claimed = end(stream, "tokenClaimAirdrop", airdrop_id(), airdrop_id())
    load_in_any_batches(stream.block())

    where = "account_id = 1001"
    assert stored("token_account", RELATIONSHIP, where) == [(True, False, 0, claimed, f"[{claimed},)")]
    assert stored("token_account_history", "associated, timestamp_range", where)[0] == (
        False,
        f"[{ended},{claimed})",
    )


@pytest.mark.checklist("TOK-40", "XFER-09")
def test_a_claim_after_a_transfer_to_a_dissociated_account_changes_nothing() -> None:
    stream = TokenStream()
    began = stream.associate(1001, TOKEN)
    ended = stream.happen("tokenDissociate", {"account": account(1001), "tokens": [token(TOKEN)]})
    block = stream.block()
    stream.transfer(units(TOKEN, {TREASURY: -5, 1001: 5}))
    end(stream, "tokenClaimAirdrop", airdrop_id())
    load_in_any_batches(block, stream.block())

    assert stored("token_account", RELATIONSHIP) == [(True, False, 5, began, f"[{ended},)")]


@pytest.mark.checklist("TOK-37", "TOK-39")
def test_failed_airdrops_write_nothing() -> None:
    stream = TokenStream()
    airdrop(stream, (airdrop_id(), 5))
    end(stream, "tokenCancelAirdrop", airdrop_id(), result=7)
    end(stream, "tokenClaimAirdrop", airdrop_id(), result=7)
    load(stream.block())

    assert stored("token_airdrop", "state") == [("PENDING",)]
    assert stored("token_account", "account_id") == []


@pytest.mark.checklist("TOK-42", "CFG-01")
@pytest.mark.parametrize("setting", ["persist__tokenAirdrops", "persist__tokens"])
def test_airdrops_need_both_settings(setting: str) -> None:
    stream = TokenStream()
    airdrop(stream, (airdrop_id(), 5))
    end(stream, "tokenClaimAirdrop", airdrop_id())
    with settings(**{setting: False}):
        load(stream.block())

    assert stored("token_airdrop", "state") == stored("token_account", "account_id") == []
