"""Accounts: create, update, delete; live hashes."""

from typing import Any

import pytest

from mirror.core.values import entity_id
from mirror.core.values.hapi.messages import Key
from mirror.demo.streams.record_files import SUCCESS
from tests.ledger.compose import (
    DAY,
    INSUFFICIENT_PAYER_BALANCE,
    KEY,
    OTHER_KEY,
    Stream,
    num,
    receipt,
    seconds,
)
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

# A point of secp256k1 (its generator), the key as an alias, and the address it stands for.
POINT = bytes.fromhex("0279be667ef9dcbbac55a06295ce870b07029bfcdb2dce28d959f2815b16f81798")
ECDSA_ALIAS = Key(ECDSA_secp256k1=POINT).SerializeToString()
EVM_ADDRESS = bytes.fromhex("7e5f4552091a69125d5dfcb7b8c2659029395bdf")
ADDRESS = bytes(range(20))
KEY_BYTES = Key(**KEY).SerializeToString()


def create(stream: Stream, body: dict[str, Any], record: dict[str, Any] | None = None, **options: Any) -> int:
    return stream.happen(
        "cryptoCreateAccount", body, receipt(accountID=num(1001)) | (record or {}), **options
    )


def update(stream: Stream, body: dict[str, Any], **options: Any) -> int:
    return stream.happen("cryptoUpdateAccount", {"accountIDToUpdate": num(1001)} | body, **options)


# CREATE


@pytest.mark.checklist("CRY-01", "CRY-06", "ENT-05", "ENT-06")
def test_a_new_account_has_what_its_body_says_and_defaults() -> None:
    stream = Stream()
    at = create(
        stream,
        {
            "key": KEY,
            "autoRenewPeriod": {"seconds": 90},
            "memo": "mine",
            "max_automatic_token_associations": -1,
            "receiverSigRequired": True,
            "proxyAccountID": num(4),
        },
    )

    load(stream.block())

    assert stored("transaction", "entity_id") == [(1001,)]
    columns = (
        "id, num, type, created_timestamp, deleted, key, public_key, auto_renew_period, memo, timestamp_range"
    )
    assert stored("entity", columns) == [
        (1001, 1001, "ACCOUNT", at, False, KEY_BYTES, KEY["ed25519"].hex(), 90, "mine", f"[{at},)")
    ]
    columns = "max_automatic_token_associations, receiver_sig_required, proxy_account_id, balance"
    assert stored("entity", columns) == [(-1, True, 4, 0)]
    columns = "ethereum_nonce, decline_reward, staked_account_id, staked_node_id, stake_period_start"
    assert stored("entity", columns) == [(0, False, None, -1, -1)]


@pytest.mark.checklist("CRY-02", "CRY-03", "CRY-04", "ID-08")
@pytest.mark.parametrize(
    ("body", "record", "alias", "key", "evm_address"),
    [
        ({"alias": KEY_BYTES}, {}, KEY_BYTES, KEY_BYTES, None),
        ({"alias": b"body"}, {"alias": ECDSA_ALIAS}, ECDSA_ALIAS, ECDSA_ALIAS, EVM_ADDRESS),
        ({"alias": ECDSA_ALIAS, "key": KEY}, {}, ECDSA_ALIAS, KEY_BYTES, EVM_ADDRESS),
        ({"alias": EVM_ADDRESS}, {}, EVM_ADDRESS, None, EVM_ADDRESS),
        ({"key": KEY}, {"evm_address": EVM_ADDRESS}, None, KEY_BYTES, EVM_ADDRESS),
        ({"alias": ECDSA_ALIAS}, {"evm_address": ADDRESS}, ECDSA_ALIAS, ECDSA_ALIAS, ADDRESS),
    ],
    ids=["ed25519 alias", "record's alias", "body's key", "address as alias", "no alias", "record's address"],
)
def test_alias_key_and_evm_address_complete_each_other(
    body: dict[str, Any],
    record: dict[str, Any],
    alias: bytes | None,
    key: bytes | None,
    evm_address: bytes | None,
) -> None:
    stream = Stream()
    create(stream, body, record)

    load(stream.block())

    assert stored("entity", "alias, key, evm_address") == [(alias, key, evm_address)]


@pytest.mark.checklist("CRY-07", "PARSE-07")
@pytest.mark.parametrize("version", [(0, 26, 9), (0, 27, 0)])
@pytest.mark.parametrize("staked", [{}, {"staked_node_id": 3}, {"staked_account_id": num(5)}])
def test_staking_is_read_from_hapi_0_27_on(version: tuple[int, int, int], staked: dict[str, Any]) -> None:
    stream = Stream(hapi_version=version)
    at = create(stream, {"decline_reward": True, **staked})

    load(stream.block())

    columns = "decline_reward, staked_node_id, staked_account_id, stake_period_start"
    if version < (0, 27, 0):
        assert stored("entity", columns) == [(False, -1, None, -1)]
    else:
        node, account = (
            staked.get("staked_node_id", -1),
            staked.get("staked_account_id", {}).get("accountNum"),
        )
        assert stored("entity", columns) == [(True, node, account, at // DAY if staked else -1)]


@pytest.mark.checklist("CRY-28")
@pytest.mark.parametrize("kind", ["cryptoCreateAccount", "cryptoUpdateAccount", "cryptoDelete"])
def test_a_failed_transaction_changes_no_account(kind: str) -> None:
    bodies = {
        "cryptoCreateAccount": {},
        "cryptoUpdateAccount": {"accountIDToUpdate": num(1001)},
        "cryptoDelete": {"deleteAccountID": num(1001)},
    }
    stream = Stream()
    stream.happen(kind, bodies[kind], receipt(accountID=num(1001)), result=INSUFFICIENT_PAYER_BALANCE)

    load(stream.block())

    assert stored("transaction", "entity_id") == [(1001,)]
    assert stored("entity", "id") == []


# UPDATE


@pytest.mark.checklist("CRY-09", "CRY-10", "ENT-03", "ENT-07", "MRG-02")
def test_update_archives_the_version_before() -> None:
    stream = Stream()
    created = create(stream, {"key": KEY, "memo": "old", "receiverSigRequired": True})
    first = stream.block()
    at = update(
        stream,
        {
            "key": {"keyList": {"keys": [OTHER_KEY]}},
            "memo": {"value": ""},
            "max_automatic_token_associations": {"value": 7},
            "receiverSigRequiredWrapper": {"value": False},
            "expirationTime": {"seconds": 1 << 50},
            "autoRenewPeriod": {"seconds": 30},
        },
    )

    load_in_any_batches(first, stream.block())

    columns = (
        "memo, public_key, max_automatic_token_associations, receiver_sig_required, auto_renew_period, "
        "created_timestamp, timestamp_range"
    )
    assert stored("entity", columns) == [("", OTHER_KEY["ed25519"].hex(), 7, False, 30, created, f"[{at},)")]
    assert stored("entity", "expiration_timestamp, deleted") == [((1 << 63) - 1, False)]
    assert stored("entity_history", columns) == [
        ("old", KEY["ed25519"].hex(), 0, True, None, created, f"[{created},{at})")
    ]


@pytest.mark.checklist("CRY-09", "CRY-13")
def test_update_leaves_other_columns_unchanged() -> None:
    stream = Stream()
    create(stream, {"key": KEY, "memo": "old", "receiverSigRequired": True, "proxyAccountID": num(4)})
    update(stream, {"proxyAccountID": num(0), "receiverSigRequired": False})

    load(stream.block())

    assert stored("entity", "key, memo, receiver_sig_required, proxy_account_id") == [
        (KEY_BYTES, "old", True, 4)
    ]


@pytest.mark.checklist("CRY-29")
def test_delegation_lasts_until_another_one_or_the_zero_address() -> None:
    stream = Stream()
    first, second, none = b"\xaa" * 20, b"\xbb" * 20, bytes(20)
    at = [create(stream, {"delegation_address": first})]
    at += [update(stream, body) for body in ({"memo": {"value": "new"}}, {"delegation_address": second})]
    at += [update(stream, {"delegation_address": none})]

    load(stream.block())

    assert stored("entity", "delegation_address") == [(none,)]
    assert sorted(stored("entity_history", "timestamp_range, delegation_address")) == [
        (f"[{at[0]},{at[1]})", first),
        (f"[{at[1]},{at[2]})", first),
        (f"[{at[2]},{at[3]})", second),
    ]


@pytest.mark.checklist("CRY-29")
def test_without_a_delegation_there_is_none() -> None:
    stream = Stream()
    create(stream, {})

    load(stream.block())

    assert stored("entity", "delegation_address") == [(None,)]


@pytest.mark.checklist("CRY-09")
def test_the_old_receiver_signature_flag_counts_when_true() -> None:
    stream = Stream()
    create(stream, {})
    update(stream, {"receiverSigRequired": True})

    load(stream.block())

    assert stored("entity", "receiver_sig_required") == [(True,)]


@pytest.mark.checklist("CRY-11", "CRY-12")
@pytest.mark.parametrize(
    ("before", "change", "expected"),
    [
        ({"staked_account_id": num(5)}, {"staked_node_id": 3}, (3, 0, False)),
        ({"staked_node_id": 3}, {"staked_account_id": num(5)}, (-1, 5, False)),
        ({"staked_node_id": 3}, {"staked_account_id": num(0)}, (-1, 0, False)),
        ({"staked_node_id": 3}, {"decline_reward": {"value": True}}, (3, None, True)),
        ({"staked_node_id": 3}, {"staked_node_id": 3}, (3, None, False)),
    ],
    ids=["node for account", "account for node", "none for node", "decline", "the same again"],
)
def test_a_staking_choice_replaces_the_other_and_starts_the_period(
    before: dict[str, Any], change: dict[str, Any], expected: tuple[Any, ...]
) -> None:
    stream = Stream()
    create(stream, before)
    stream.consensus_timestamp += 3 * DAY
    at = update(stream, change)

    load(stream.block())

    columns = "staked_node_id, staked_account_id, decline_reward, stake_period_start"
    node, account, decline = expected
    if "staked_node_id" in change:
        account = 0
    assert stored("entity", columns) == [(node, account, decline, at // DAY)]


def test_staking_of_an_update_before_hapi_0_27_is_not_read() -> None:
    stream = Stream(hapi_version=(0, 26, 0))
    update(stream, {"staked_node_id": 3, "decline_reward": {"value": True}})

    load(stream.block())

    assert stored("entity", "staked_node_id, decline_reward, stake_period_start") == [(-1, False, -1)]


@pytest.mark.checklist("CRY-15", "ENT-12")
def test_an_update_by_alias_changes_no_entity() -> None:
    stream = Stream()
    create(stream, {"alias": KEY_BYTES})
    stream.happen("cryptoUpdateAccount", {"accountIDToUpdate": {"alias": KEY_BYTES}, "memo": {"value": "no"}})

    load(stream.block())

    assert stored("transaction", "index, entity_id") == [(0, 1001), (1, None)]
    assert stored("entity", "id, memo") == [(1001, "")]


@pytest.mark.checklist("MRG-07")
def test_an_update_of_an_unknown_account_makes_a_partial_row() -> None:
    stream = Stream()
    at = update(stream, {"memo": {"value": "late"}})

    load(stream.block())

    assert stored("entity", "id, type, memo, created_timestamp, deleted, timestamp_range") == [
        (1001, "ACCOUNT", "late", None, False, f"[{at},)")
    ]


@pytest.mark.checklist("ENT-08", "ENC-05")
@pytest.mark.parametrize(
    ("key", "stored_key", "public_key"),
    [
        ({"keyList": {"keys": [KEY, OTHER_KEY]}}, None, None),
        ({"contractID": {"contractNum": 5}}, None, None),
        ({"keyList": {}}, b"\x32\x00", None),
        (None, KEY_BYTES, KEY["ed25519"].hex()),
    ],
    ids=["two keys", "contract", "empty list", "unchanged"],
)
def test_the_public_key_goes_with_a_key_that_has_none(
    key: dict[str, Any] | None, stored_key: bytes | None, public_key: str | None
) -> None:
    stream = Stream()
    create(stream, {"key": KEY})
    first = stream.block()
    update(stream, {"key": key} if key else {})

    load_in_any_batches(first, stream.block())

    expected = stored_key or Key(**(key or {})).SerializeToString()
    assert stored("entity", "key, public_key") == [(expected, public_key)]


@pytest.mark.checklist("ENT-09")
def test_hollow_account_that_becomes_a_contract_has_its_first_creation() -> None:
    stream = Stream()
    created = create(stream, {}, {"evm_address": ADDRESS})
    stream.send({1001: 5, 2: -5})
    first = stream.block()
    at = stream.happen("contractCreateInstance", {"memo": "code"}, receipt(contractID={"contractNum": 1001}))

    load_in_any_batches(first, stream.block())

    columns = "id, type, created_timestamp, evm_address, balance, memo, timestamp_range"
    assert stored("entity", columns) == [(1001, "CONTRACT", created, ADDRESS, 5, "code", f"[{at},)")]
    assert stored("entity_history", columns) == [
        (1001, "ACCOUNT", created, ADDRESS, 5, "", f"[{created},{at})")
    ]


@pytest.mark.checklist("ENT-10")
def test_without_history_only_creations_are_stored() -> None:
    stream = Stream()
    create(stream, {"memo": "first"})
    update(stream, {"memo": {"value": "second"}})

    with settings(persist__entityHistory=False):
        load(stream.block())

    assert stored("entity", "memo") == [("first",)]
    assert stored("entity_history", "memo") == []


# DELETE


@pytest.mark.checklist("CRY-16")
def test_a_deleted_account_names_the_receiver_of_its_balance() -> None:
    stream = Stream()
    stream.happen("cryptoCreateAccount", {"alias": KEY_BYTES}, receipt(accountID=num(1002)))
    create(stream, {"key": KEY})
    at = stream.happen(
        "cryptoDelete", {"deleteAccountID": num(1001), "transferAccountID": {"alias": KEY_BYTES}}
    )

    load(stream.block())

    assert stored("entity", "id, deleted, obtainer_id, key, timestamp_range", "id = 1001") == [
        (1001, True, 1002, KEY_BYTES, f"[{at},)")
    ]


@pytest.mark.checklist("CRY-16", "ID-06")
def test_an_unknown_receiver_of_the_balance_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    stream = Stream()
    stream.happen("cryptoDelete", {"deleteAccountID": num(1001), "transferAccountID": {"alias": KEY_BYTES}})

    load(stream.block())

    assert stored("entity", "id, deleted, obtainer_id") == [(1001, True, None)]
    assert "account that obtains the rest is not known" in caplog.text


@pytest.mark.checklist("CRY-17")
def test_a_transfer_has_no_entity() -> None:
    stream = Stream()
    stream.send({1001: -1, 1002: 1})

    load(stream.block())

    assert stored("transaction", "type, entity_id") == [(14, None)]


@pytest.mark.checklist("ENT-04")
def test_only_accounts_and_contracts_get_a_balance() -> None:
    stream = Stream()
    stream.happen("fileCreate", {}, receipt(fileID={"fileNum": 1005}))
    stream.create(1001)
    stream.send({1001: 5, 1005: 6, 2: -11})

    load(stream.block())

    assert stored("entity", "id, type, balance, ethereum_nonce") == [
        (1001, "ACCOUNT", 5, 0),
        (1005, "FILE", None, None),
    ]


# LIVE HASHES


@pytest.mark.checklist("CRY-26")
@pytest.mark.parametrize("wanted", [True, False])
@pytest.mark.parametrize("result", [SUCCESS, INSUFFICIENT_PAYER_BALANCE])
def test_a_live_hash_is_stored_if_configured(wanted: bool, result: int) -> None:
    stream = Stream()
    at = stream.happen(
        "cryptoAddLiveHash", {"liveHash": {"accountId": num(1001), "hash": b"hash"}}, result=result
    )

    with settings(persist__claims=wanted):
        load(stream.block())

    assert stored("transaction", "entity_id") == [(1001,)]
    kept = wanted and result == SUCCESS
    assert stored("live_hash", "consensus_timestamp, livehash") == ([(at, b"hash")] if kept else [])


@pytest.mark.checklist("CRY-27")
def test_deleting_a_live_hash_writes_only_its_transaction() -> None:
    stream = Stream()
    stream.happen("cryptoDeleteLiveHash", {"accountOfLiveHash": num(1001), "liveHashToDelete": b"hash"})

    with settings(persist__claims=True):
        load(stream.block())

    assert stored("transaction", "type, entity_id") == [(13, 1001)]
    assert stored("live_hash", "livehash") == []


@pytest.mark.checklist("ENC-01")
def test_ids_of_other_shards_and_realms_are_packed() -> None:
    stream = Stream()
    account = {"shardNum": 1023, "realmNum": 65535, "accountNum": 274877906943}
    stream.happen("cryptoCreateAccount", {}, receipt(accountID=account))

    load(stream.block())

    packed = entity_id.encode(1023, 65535, 274877906943)
    assert stored("entity", "id, shard, realm, num") == [(packed, 1023, 65535, 274877906943)]
    assert packed < 0


def test_the_valid_start_of_a_transaction_may_be_any_time() -> None:
    stream = Stream()
    create(stream, {}, whole={"transactionID": {"transactionValidStart": seconds(5 * 10**9 + 1)}})

    load(stream.block())

    assert stored("transaction", "valid_start_ns") == [(5 * 10**9 + 1,)]
