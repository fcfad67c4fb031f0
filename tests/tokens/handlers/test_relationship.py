"""Accounts and tokens: associated, dissociated, frozen, known, rejected."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import AccountID, Key
from mirror.demo.streams.record_files import TREASURY, account
from tests.ledger.ingest.load import load, load_in_any_batches, stored
from tests.tokens.compose import KEY, TokenStream, serials, token, units

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = 5000
COLUMNS = "account_id, associated, automatic_association, balance, created_timestamp, timestamp_range"
STATUSES = "freeze_status, kyc_status, timestamp_range"


def dissociate(stream: TokenStream, holder: int, *moved: Any, tokens: tuple[int, ...] = (TOKEN,)) -> int:
    body = {"account": account(holder), "tokens": [token(number) for number in tokens]}
    return stream.happen("tokenDissociate", body, *moved)


def status(stream: TokenStream, kind: str, holder: int = 1001) -> int:
    return stream.happen(kind, {"account": account(holder), "token": token(TOKEN)})


@pytest.mark.checklist("TOK-20")
def test_an_association_starts_a_relationship_with_the_tokens_own_statuses() -> None:
    stream = TokenStream()
    at = stream.associate(1001, TOKEN, TOKEN + 1)
    load(stream.block())

    assert stored("token_account", f"token_id, {COLUMNS}") == [
        (TOKEN, 1001, True, False, 0, at, f"[{at},)"),
        (TOKEN + 1, 1001, True, False, 0, at, f"[{at},)"),
    ]
    assert stored("token_account", "freeze_status, kyc_status") == [(None, None)] * 2
    assert stored("transaction", "type, entity_id") == [(40, 1001)]


@pytest.mark.checklist("TOK-20", "TOK-23")
def test_failed_relationship_changes_write_nothing() -> None:
    stream = TokenStream()
    for kind in ("tokenAssociate", "tokenDissociate"):
        stream.happen(kind, {"account": account(1001), "tokens": [token(TOKEN)]}, result=7)
    stream.happen("tokenFreeze", {"account": account(1001), "token": token(TOKEN)}, result=7)
    load(stream.block())

    assert stored("token_account", "account_id") == []
    assert stored("transaction", "type, entity_id") == [(31, 1001), (40, 1001), (41, 1001)]


@pytest.mark.checklist("TOK-21", "MRG-02", "MRG-03", "MRG-11")
def test_associating_again_starts_anew() -> None:
    stream = TokenStream()
    stream.create(TOKEN, supply=100, freezeKey=KEY)
    first = stream.associate(1001, TOKEN)
    frozen = status(stream, "tokenFreeze")
    blocks = [stream.block()]
    stream.transfer(units(TOKEN, {TREASURY: -5, 1001: 5}))
    stream.transfer(units(TOKEN, {TREASURY: 5, 1001: -5}))
    ended = dissociate(stream, 1001)
    again = stream.associate(1001, TOKEN)
    received = stream.transfer(units(TOKEN, {TREASURY: -2, 1001: 2}))
    blocks.append(stream.block())
    load_in_any_batches(*blocks)

    where = "account_id = 1001"
    assert stored("token_account", COLUMNS, where) == [(1001, True, False, 2, again, f"[{again},)")]
    assert stored("token_account", f"{STATUSES}, balance_timestamp", where) == [
        (None, None, f"[{again},)", received)
    ]
    assert stored("token_account_history", COLUMNS) == [
        (1001, False, False, 0, first, f"[{ended},{again})"),
        (1001, True, False, 0, first, f"[{first},{frozen})"),
        (1001, True, False, 0, first, f"[{frozen},{ended})"),
    ]
    assert stored("token_account_history", STATUSES, where) == [
        (None, None, f"[{first},{frozen})"),
        (1, None, f"[{frozen},{ended})"),
        (1, None, f"[{ended},{again})"),
    ]


@pytest.mark.checklist("TOK-22")
def test_an_association_listed_twice_counts_once() -> None:
    stream = TokenStream()
    at = stream.happen(
        "tokenAssociate",
        {"account": account(1001), "tokens": [token(TOKEN), token(TOKEN)]},
        associated=[(1001, TOKEN)],
    )
    load(stream.block())

    assert stored("token_account", COLUMNS) == [(1001, True, False, 0, at, f"[{at},)")]
    assert stored("token_account_history", "account_id") == []


@pytest.mark.checklist("TOK-23")
def test_dissociation_changes_no_other_column() -> None:
    stream = TokenStream()
    began = stream.associate(1001, TOKEN)
    known = status(stream, "tokenGrantKyc")
    ended = dissociate(stream, 1001)
    load_in_any_batches(stream.block())

    assert stored("token_account", COLUMNS) == [(1001, False, False, 0, began, f"[{ended},)")]
    assert stored("token_account", "kyc_status") == [(1,)]
    assert stored("token_account_history", "timestamp_range") == [
        (f"[{began},{known})",),
        (f"[{known},{ended})",),
    ]


@pytest.mark.checklist("TOK-24", "TOK-43")
def test_dissociating_from_a_deleted_token_lowers_its_supply() -> None:
    stream = TokenStream()
    stream.create(TOKEN, supply=100)
    for holder in (1001, 1002):
        stream.associate(holder, TOKEN)
        stream.transfer(units(TOKEN, {TREASURY: -30, holder: 30}))
    stream.happen("tokenDeletion", {"token": token(TOKEN)})
    first = stream.block()
    gone = dissociate(stream, 1001, units(TOKEN, {1001: -30}))
    gone_too = dissociate(stream, 1002, units(TOKEN, {1002: -30}))
    load_in_any_batches(first, stream.block())

    assert stored("token", "total_supply") == [(40,)]
    assert stored("token_history", "token_id") == []
    assert stored("token_account", "account_id, associated, balance, balance_timestamp")[1:] == [
        (1001, False, 0, gone),
        (1002, False, 0, gone_too),
    ]
    assert stored(
        "token_transfer",
        "account_id, amount, consensus_timestamp, is_approval, payer_account_id, token_id",
        f"consensus_timestamp >= {gone}",
    ) == [(1001, -30, gone, False, TREASURY, TOKEN), (1002, -30, gone_too, False, TREASURY, TOKEN)]


@pytest.mark.checklist("TOK-25")
@pytest.mark.parametrize("one_block", [True, False])
def test_dissociating_from_a_deleted_token_deletes_its_serials(one_block: bool) -> None:
    stream = TokenStream()
    blocks = []
    for number in (TOKEN, TOKEN + 1):
        stream.create_nft(number)
        stream.mint_serials(number, 1, 2, 3)
        stream.associate(1001, number)
        moved = stream.transfer(serials(number, (1, TREASURY, 1001), (2, TREASURY, 1001)))
    stream.create(TOKEN + 2)
    if not one_block:
        blocks.append(stream.block())
    ended = dissociate(
        stream,
        1001,
        units(TOKEN + 1, {1001: -2}),
        units(TOKEN, {1001: -2}),
        units(TOKEN + 2, {1001: -7}),
        tokens=(TOKEN, TOKEN + 1, TOKEN + 2),
    )
    blocks.append(stream.block())
    load_in_any_batches(*blocks)

    columns = "serial_number, account_id, deleted, spender, metadata, timestamp_range"
    assert stored("nft", columns, f"token_id = {TOKEN + 1} and serial_number < 3") == [
        (1, None, True, None, b"serial 1", f"[{ended},)"),
        (2, None, True, None, b"serial 2", f"[{ended},)"),
    ]
    assert stored("nft", "account_id, deleted", "serial_number = 3") == [(TREASURY, False)] * 2
    assert stored("nft_history", columns, f"token_id = {TOKEN + 1} and account_id = 1001") == [
        (1, 1001, False, None, b"serial 1", f"[{moved},{ended})"),
        (2, 1001, False, None, b"serial 2", f"[{moved},{ended})"),
    ]
    assert stored("token_transfer", "token_id, amount") == [(TOKEN + 2, -7)]
    assert stored("token", "token_id, total_supply") == [(TOKEN, 1), (TOKEN + 1, 1), (TOKEN + 2, 0)]
    assert stored("transaction", "nft_transfer", "type = 41") == [
        (
            [
                {
                    "is_approval": False,
                    "receiver_account_id": None,
                    "sender_account_id": 1001,
                    "serial_number": serial,
                    "token_id": number,
                }
                for number in (TOKEN, TOKEN + 1)
                for serial in (1, 2)
            ],
        )
    ]


@pytest.mark.checklist("TOK-26")
def test_an_expired_token_returns_to_its_treasury() -> None:
    stream = TokenStream()
    stream.create(TOKEN, supply=100)
    stream.associate(1001, TOKEN)
    stream.transfer(units(TOKEN, {TREASURY: -30, 1001: 30}))
    gone = dissociate(stream, 1001, units(TOKEN, {1001: -30, TREASURY: 30}))
    load_in_any_batches(stream.block())

    assert stored("token", "total_supply") == [(100,)]
    assert stored("token_account", "account_id, associated, balance") == [
        (TREASURY, True, 100),
        (1001, False, 0),
    ]
    assert stored("token_transfer", "account_id, amount", f"consensus_timestamp = {gone}") == [
        (TREASURY, 30),
        (1001, -30),
    ]


@pytest.mark.checklist("TOK-27", "TOK-28", "ENC-07")
@pytest.mark.parametrize(
    ("kinds", "statuses"),
    [
        (("tokenFreeze", "tokenUnfreeze"), ((1, None), (2, None))),
        (("tokenRevokeKyc", "tokenGrantKyc"), ((None, 2), (None, 1))),
    ],
    ids=["freeze", "kyc"],
)
def test_a_status_starts_a_version(kinds: tuple[str, str], statuses: tuple[Any, Any]) -> None:
    stream = TokenStream()
    began = stream.associate(1001, TOKEN)
    first = stream.block()
    changed = status(stream, kinds[0])
    restored = status(stream, kinds[1])
    load_in_any_batches(first, stream.block())

    assert stored("token_account", STATUSES) == [(*statuses[1], f"[{restored},)")]
    assert stored("token_account_history", STATUSES) == sorted(
        [(*statuses[0], f"[{changed},{restored})"), (None, None, f"[{began},{changed})")],
        key=lambda row: [(value is not None, value) for value in row],
    )
    assert stored("token_account", "associated, created_timestamp") == [(True, began)]


@pytest.mark.checklist("MRG-07")
def test_a_status_of_an_unknown_relationship_makes_a_partial_row() -> None:
    stream = TokenStream()
    at = status(stream, "tokenFreeze")
    load(stream.block())

    assert stored("token_account", COLUMNS) == [(1001, True, None, 0, None, f"[{at},)")]


@pytest.mark.checklist("TOK-41")
def test_rejected_tokens_return_by_transfers() -> None:
    alias = bytes(Key(**KEY).SerializeToString())
    stream = TokenStream()
    stream.create(TOKEN, supply=100)
    stream.create_nft(TOKEN + 1)
    stream.mint_serials(TOKEN + 1, 1)
    stream.happen("cryptoCreateAccount", {"alias": alias}, receipt={"accountID": account(1001)})
    stream.associate(1001, TOKEN, TOKEN + 1)
    stream.transfer(units(TOKEN, {TREASURY: -30, 1001: 30}), serials(TOKEN + 1, (1, TREASURY, 1001)))
    stream.happen("tokenReject", {}, units(TOKEN, {TREASURY: 10, 1001: -10}), payer=1001)
    stream.happen(
        "tokenReject",
        {"owner": AccountID(alias=alias)},
        units(TOKEN, {TREASURY: 20, 1001: -20}),
        serials(TOKEN + 1, (1, 1001, TREASURY)),
    )
    stream.happen("tokenReject", {"owner": AccountID(alias=b"unknown")}, result=7)
    load(stream.block())

    assert stored("transaction", "entity_id, payer_account_id", "type = 57") == [
        (None, TREASURY),
        (1001, TREASURY),
        (1001, 1001),
    ]
    assert stored("token_account", "account_id, token_id, associated, balance", "account_id = 1001") == [
        (1001, TOKEN, True, 0),
        (1001, TOKEN + 1, True, 0),
    ]
    assert stored("nft", "account_id") == [(TREASURY,)]
