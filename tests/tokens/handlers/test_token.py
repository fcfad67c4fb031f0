"""Tokens: created, updated, deleted, paused, with their fees."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import AccountID, Key
from mirror.demo.streams.record_files import TREASURY, account
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored
from tests.tokens.compose import KEY, OTHER_KEY, TokenStream, token

pytestmark = pytest.mark.django_db(transaction=True)

TOKEN = 5000
FAILED = 7  # INVALID_SIGNATURE


def key_bytes(key: dict[str, bytes]) -> bytes:
    return bytes(Key(**key).SerializeToString())


@pytest.mark.checklist("TOK-01", "ENC-07")
def test_a_created_token_is_stored_with_its_supply_and_treasury() -> None:
    stream = TokenStream()
    at = stream.create(
        TOKEN, treasury=1001, supply=500, decimals=2, supplyType="FINITE", maxSupply=900, supplyKey=KEY
    )
    nft = stream.create_nft(TOKEN + 1)
    load(stream.block())

    columns = "token_id, name, symbol, decimals, initial_supply, total_supply, max_supply, created_timestamp"
    assert stored("token", columns) == [
        (TOKEN, "Token 5000", "T5000", 2, 500, 500, 900, at),
        (TOKEN + 1, "Token 5001", "T5001", 0, 0, 0, 0, nft),
    ]
    assert stored(
        "token", "token_id, treasury_account_id, type, supply_type, supply_key, timestamp_range"
    ) == [
        (TOKEN, 1001, "FUNGIBLE_COMMON", "FINITE", key_bytes(KEY), f"[{at},)"),
        (TOKEN + 1, TREASURY, "NON_FUNGIBLE_UNIQUE", "INFINITE", key_bytes(KEY), f"[{nft},)"),
    ]
    assert stored("transaction", "type, entity_id") == [(29, TOKEN), (29, TOKEN + 1)]


@pytest.mark.checklist("TOK-01")
def test_a_token_that_could_not_be_created_is_not_stored() -> None:
    stream = TokenStream()
    stream.happen("tokenCreation", {"name": "x", "treasury": account(1001)}, result=FAILED)
    load(stream.block())

    assert stored("token", "token_id") == stored("token_account", "token_id") == []
    assert stored("transaction", "type, entity_id, result") == [(29, None, FAILED)]


@pytest.mark.checklist("TOK-02", "ENC-07")
@pytest.mark.parametrize(
    ("body", "statuses"),
    [
        ({}, (0, 0, "NOT_APPLICABLE")),
        ({"freezeDefault": True}, (0, 0, "NOT_APPLICABLE")),
        ({"freezeKey": KEY, "freezeDefault": True}, (1, 0, "NOT_APPLICABLE")),
        ({"freezeKey": KEY, "kycKey": KEY, "pause_key": KEY}, (2, 2, "UNPAUSED")),
    ],
    ids=["no keys", "freeze default without a key", "frozen", "every key"],
)
def test_the_keys_of_a_token_decide_its_statuses(body: dict[str, Any], statuses: tuple[Any, ...]) -> None:
    stream = TokenStream()
    stream.create(TOKEN, **body)
    load(stream.block())

    assert stored("token", "freeze_status, kyc_status, pause_status") == [statuses]


@pytest.mark.checklist("TOK-03")
@pytest.mark.parametrize(
    ("keys", "statuses"), [({}, (0, 0)), ({"freezeKey": KEY, "freezeDefault": True, "kycKey": KEY}, (2, 1))]
)
def test_the_treasury_of_a_new_token_is_unfrozen_and_has_kyc(
    keys: dict[str, Any], statuses: tuple[int, int]
) -> None:
    stream = TokenStream()
    at = stream.create(TOKEN, treasury=1001, supply=500, **keys)
    load(stream.block())

    assert stored(
        "token_account",
        "account_id, associated, automatic_association, balance, balance_timestamp, created_timestamp, "
        "freeze_status, kyc_status, timestamp_range",
    ) == [(1001, True, False, 500, at, at, *statuses, f"[{at},)")]


def fixed(collector: int, amount: int = 7, **denominating: Any) -> dict[str, Any]:
    return {"fixed_fee": {"amount": amount} | denominating, "fee_collector_account_id": account(collector)}


def fractional(collector: int, maximum: int = 0) -> dict[str, Any]:
    fee = {
        "fractional_amount": {"numerator": 1, "denominator": 100},
        "minimum_amount": 3,
        "maximum_amount": maximum,
        "net_of_transfers": True,
    }
    return {"fractional_fee": fee, "fee_collector_account_id": account(collector)}


def royalty(collector: int, **fallback: Any) -> dict[str, Any]:
    fee = {"exchange_value_fraction": {"numerator": 1, "denominator": 20}} | fallback
    return {"royalty_fee": fee, "fee_collector_account_id": account(collector)}


@pytest.mark.checklist("TOK-04", "TOK-09")
def test_collectors_of_fees_in_the_new_token_are_associated() -> None:
    stream = TokenStream()
    stream.create(
        TOKEN,
        treasury=1001,
        custom_fees=[
            fixed(1002, denominating_token_id=token(0)),
            fixed(1003),
            fixed(1004, denominating_token_id=token(777)),
            fractional(1005),
            fractional(1001),
        ],
    )
    load(stream.block())

    assert stored("token_account", "account_id") == [(1001,), (1002,), (1005,)]
    ((fees,),) = stored("custom_fee", "fixed_fees")
    assert [fee["denominating_token_id"] for fee in fees] == [TOKEN, None, 777]


@pytest.mark.checklist("TOK-05", "XFER-15")
def test_the_holders_a_record_lists_replace_the_expected_ones() -> None:
    stream = TokenStream()
    stream.happen(
        "tokenCreation",
        {"treasury": account(1001), "custom_fees": [fractional(1002)]},
        receipt={"tokenID": token(TOKEN)},
        associated=[(1001, TOKEN), (1009, TOKEN)],
    )
    load(stream.block())

    assert stored("token_account", "account_id, automatic_association") == [(1001, False), (1009, False)]


@pytest.mark.checklist("TOK-06")
def test_a_token_without_fees_has_an_empty_fee_schedule() -> None:
    stream = TokenStream()
    at = stream.create(TOKEN)
    load(stream.block())

    assert stored("custom_fee", "entity_id, fixed_fees, fractional_fees, royalty_fees, timestamp_range") == [
        (TOKEN, None, None, None, f"[{at},)")
    ]


@pytest.mark.checklist("TOK-07", "PARSE-07")
@pytest.mark.parametrize(
    ("version", "body", "stored_metadata"),
    [
        ((0, 48, 9), {"metadata": b"m", "metadata_key": KEY}, (None, None)),
        ((0, 49, 0), {"metadata": b"m", "metadata_key": KEY}, (b"m", key_bytes(KEY))),
        ((0, 49, 0), {}, (b"", None)),
    ],
    ids=["too early", "given", "not given"],
)
def test_tokens_have_metadata_since_hapi_0_49(
    version: tuple[int, int, int], body: dict[str, Any], stored_metadata: tuple[Any, ...]
) -> None:
    stream = TokenStream(hapi_version=version)
    stream.create(TOKEN, **body)
    load(stream.block())

    assert stored("token", "metadata, metadata_key") == [stored_metadata]


@pytest.mark.checklist("TOK-08", "ENC-04", "TOK-11")
def test_a_token_is_an_entity_too() -> None:
    stream = TokenStream()
    stream.crypto_create(1001)
    at = stream.create(
        TOKEN,
        name="a\0b",
        symbol="c\0d",
        memo="e\0f",
        adminKey=KEY,
        autoRenewAccount=account(1001),
        autoRenewPeriod={"seconds": 90},
        expiry={"seconds": 1 << 40},
    )
    load(stream.block())

    assert stored(
        "entity",
        "id, type, created_timestamp, deleted, memo, auto_renew_account_id, auto_renew_period, "
        "expiration_timestamp, key, public_key",
        "type = 'TOKEN'",
    ) == [
        (TOKEN, "TOKEN", at, False, "e\ufffdf", 1001, 90, (1 << 63) - 1, key_bytes(KEY), KEY["ed25519"].hex())
    ]
    assert stored("token", "name, symbol") == [("a\ufffdb", "c\ufffdd")]


@pytest.mark.checklist("TOK-08", "ID-06")
def test_the_auto_renew_account_is_found_by_alias_or_left_out() -> None:
    alias = key_bytes(KEY)
    stream = TokenStream()
    stream.happen("cryptoCreateAccount", {"alias": alias}, receipt={"accountID": account(1001)})
    stream.create(TOKEN, autoRenewAccount=AccountID(alias=alias))
    stream.create(TOKEN + 1, autoRenewAccount=AccountID(alias=key_bytes(OTHER_KEY)))
    stream.create(TOKEN + 2, autoRenewAccount=AccountID(accountNum=0))
    load(stream.block())

    assert stored("entity", "id, auto_renew_account_id", "type = 'TOKEN'") == [
        (TOKEN, 1001),
        (TOKEN + 1, None),
        (TOKEN + 2, None),
    ]


@pytest.mark.checklist("TOK-10", "TOK-12", "MRG-06")
def test_update_changes_only_what_it_sets() -> None:
    stream = TokenStream()
    created = stream.create(TOKEN, treasury=1001, decimals=3, wipeKey=KEY, freezeKey=KEY)
    first = stream.block()
    updated = stream.happen(
        "tokenUpdate",
        {
            "token": token(TOKEN),
            "name": "New",
            "treasury": account(1002),
            "kycKey": OTHER_KEY,
            "metadata": {"value": b"m"},
            "pause_key": KEY,
        },
    )
    renamed = stream.happen("tokenUpdate", {"token": token(TOKEN), "symbol": "N"})
    unchanged = stream.happen("tokenUpdate", {"token": token(TOKEN)})
    load_in_any_batches(first, stream.block())

    columns = "name, symbol, treasury_account_id, metadata, timestamp_range"
    assert stored("token", columns) == [("New", "N", 1002, b"m", f"[{unchanged},)")]
    assert stored("token_history", columns) == [
        ("New", "N", 1002, b"m", f"[{renamed},{unchanged})"),
        ("New", "T5000", 1002, b"m", f"[{updated},{renamed})"),
        ("Token 5000", "T5000", 1001, b"", f"[{created},{updated})"),
    ]
    columns = "wipe_key, kyc_key, decimals, freeze_status, kyc_status, pause_status, created_timestamp"
    assert stored("token", columns) == [
        (key_bytes(KEY), key_bytes(OTHER_KEY), 3, 2, 0, "NOT_APPLICABLE", created)
    ]


@pytest.mark.checklist("TOK-11")
def test_an_update_changes_the_entity_and_0_0_0_clears_the_auto_renew_account() -> None:
    stream = TokenStream()
    stream.create(TOKEN, autoRenewAccount=account(1001), memo="kept")
    updated = stream.happen(
        "tokenUpdate",
        {
            "token": token(TOKEN),
            "adminKey": OTHER_KEY,
            "autoRenewAccount": AccountID(accountNum=0),
            "autoRenewPeriod": {"seconds": 5},
            "expiry": {"seconds": 9},
        },
    )
    emptied = stream.happen("tokenUpdate", {"token": token(TOKEN), "memo": {}})
    load(stream.block())

    columns = "memo, key, auto_renew_account_id, auto_renew_period, expiration_timestamp, timestamp_range"
    given = (key_bytes(OTHER_KEY), 0, 5, 9_000_000_000)
    assert stored("entity", columns, "type = 'TOKEN'") == [("", *given, f"[{emptied},)")]
    assert stored("entity_history", columns)[1:] == [("kept", *given, f"[{updated},{emptied})")]


@pytest.mark.checklist("TOK-13", "MRG-07", "MRG-08")
def test_an_update_of_an_unknown_token_writes_only_the_entity() -> None:
    stream = TokenStream()
    at = stream.happen("tokenUpdate", {"token": token(TOKEN), "name": "New"})
    stream.happen("token_pause", {"token": token(TOKEN)})
    load(stream.block())

    assert stored("token", "token_id") == stored("token_history", "token_id") == []
    assert stored("entity", "id, type, created_timestamp, timestamp_range") == [
        (TOKEN, "TOKEN", None, f"[{at},)")
    ]


@pytest.mark.checklist("TOK-14", "ENT-03")
def test_a_deleted_token_stays_a_token() -> None:
    stream = TokenStream()
    created = stream.create(TOKEN)
    stream.happen("tokenDeletion", {"token": token(TOKEN)})
    load(stream.block())

    assert stored("entity", "id, type, deleted") == [(TOKEN, "TOKEN", True)]
    assert stored("token", "token_id, timestamp_range") == [(TOKEN, f"[{created},)")]


@pytest.mark.checklist("TOK-29", "ENC-07")
def test_pausing_starts_a_version() -> None:
    stream = TokenStream()
    created = stream.create(TOKEN, pause_key=KEY)
    paused = stream.happen("token_pause", {"token": token(TOKEN)})
    unpaused = stream.happen("token_unpause", {"token": token(TOKEN)})
    load_in_any_batches(stream.block())

    assert stored("token", "pause_status, timestamp_range") == [("UNPAUSED", f"[{unpaused},)")]
    assert stored("token_history", "pause_status, timestamp_range") == [
        ("PAUSED", f"[{paused},{unpaused})"),
        ("UNPAUSED", f"[{created},{paused})"),
    ]


@pytest.mark.checklist("TOK-30", "TOK-31", "TOK-09", "ENC-06", "MRG-02")
def test_a_fee_schedule_replaces_the_previous_one() -> None:
    stream = TokenStream()
    created = stream.create(TOKEN, custom_fees=[fixed(1002)])
    first = stream.block()
    exempt = fractional(1003) | {"all_collectors_are_exempt": True}
    fallback = {"fallback_fee": {"amount": 4, "denominating_token_id": token(777)}}
    update = {
        "token_id": token(TOKEN),
        "custom_fees": [exempt, fractional(1003, 9), royalty(1004), royalty(1004, **fallback)],
    }
    replaced = stream.happen("token_fee_schedule_update", update)
    load_in_any_batches(first, stream.block())

    fraction = {
        "all_collectors_are_exempt": False,
        "collector_account_id": 1003,
        "denominator": 100,
        "maximum_amount": 9,
        "minimum_amount": 3,
        "net_of_transfers": True,
        "numerator": 1,
    }
    royal = {
        "all_collectors_are_exempt": False,
        "collector_account_id": 1004,
        "denominator": 20,
        "fallback_fee": None,
        "numerator": 1,
    }
    columns = "entity_id, fixed_fees, fractional_fees, royalty_fees, timestamp_range"
    assert stored("custom_fee", columns) == [
        (
            TOKEN,
            None,
            [fraction | {"all_collectors_are_exempt": True, "maximum_amount": None}, fraction],
            [royal, royal | {"fallback_fee": {"amount": 4, "denominating_token_id": 777}}],
            f"[{replaced},)",
        )
    ]
    assert stored("custom_fee_history", columns) == [
        (
            TOKEN,
            [
                {
                    "all_collectors_are_exempt": False,
                    "amount": 7,
                    "collector_account_id": 1002,
                    "denominating_token_id": None,
                }
            ],
            None,
            None,
            f"[{created},{replaced})",
        )
    ]


@pytest.mark.checklist("TOK-32")
def test_a_fee_of_an_unknown_kind_is_left_out() -> None:
    unknown = {"fee_collector_account_id": account(1002)}
    stream = TokenStream()
    stream.create(TOKEN, custom_fees=[fixed(1002)])
    second = stream.create(TOKEN + 1, custom_fees=[unknown, fixed(1003)])
    stream.happen("token_fee_schedule_update", {"token_id": token(TOKEN), "custom_fees": [unknown]})
    load(stream.block())

    assert [
        (entity, [fee["collector_account_id"] for fee in fees])
        for entity, fees in stored("custom_fee", "entity_id, fixed_fees")
    ] == [(TOKEN, [1002]), (TOKEN + 1, [1003])]
    assert stored("custom_fee", "timestamp_range", f"entity_id = {TOKEN + 1}") == [(f"[{second},)",)]
    assert stored("custom_fee_history", "entity_id") == []


@pytest.mark.checklist("TOK-42", "CFG-01")
def test_tokens_are_not_stored_if_not_configured() -> None:
    stream = TokenStream()
    stream.create(TOKEN, treasury=1001, supply=5)
    stream.associate(1002, TOKEN)
    stream.happen("token_pause", {"token": token(TOKEN)})
    stream.create_nft(TOKEN + 1)
    stream.mint_serials(TOKEN + 1, 1)
    with settings(persist__tokens=False):
        load(stream.block())

    for table in ("token", "token_account", "token_transfer", "nft", "custom_fee"):
        assert stored(table, "timestamp_range" if table not in ("token_transfer",) else "amount") == []
    assert stored("transaction", "nft_transfer") == [(None,)] * 5
