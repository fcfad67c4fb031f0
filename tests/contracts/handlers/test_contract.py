"""Contracts created, updated, deleted, and where their code comes from."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import ContractID, Key
from mirror.demo.streams.record_files import account
from tests.contracts.compose import (
    CALLER,
    CONTRACT,
    FILE,
    OTHER,
    ContractStream,
    bytecode,
    contract,
    ethereum_data,
    evm_contract,
    file,
    function_result,
    log,
)
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored
from tests.ledger.ingest.tables import contents

pytestmark = pytest.mark.django_db(transaction=True)

KEY = {"ed25519": bytes(range(32))}
KEY_BYTES = Key(**KEY).SerializeToString()
ADDRESS = b"\xab" * 20
REVERTED = 33
DAY = 86_400 * 10**9
CODE = "id, file_id, initcode, runtime_bytecode"


def entity(columns: str, number: int = CONTRACT) -> Any:
    (row,) = stored("entity", columns, f"id = {number}")
    return row


@pytest.mark.checklist("CON-01")
def test_a_created_contract_is_an_entity_with_the_address_of_its_result() -> None:
    stream = ContractStream()
    at = stream.create(
        body={
            "adminKey": KEY,
            "autoRenewPeriod": {"seconds": 7000},
            "auto_renew_account_id": account(CALLER),
            "memo": "me\0mo",
            "max_automatic_token_associations": 5,
            "staked_node_id": 3,
            "decline_reward": True,
        },
        created=function_result(evm_address={"value": ADDRESS}),
    )
    load(stream.block())

    assert entity("type, created_timestamp, deleted, balance, evm_address, memo, key, public_key") == (
        *("CONTRACT", at, False, 0, ADDRESS, "me\ufffdmo", KEY_BYTES, bytes(range(32)).hex()),
    )
    assert entity(
        "auto_renew_account_id, auto_renew_period, max_automatic_token_associations, staked_node_id,"
        "decline_reward, stake_period_start, ethereum_nonce, timestamp_range"
    ) == (CALLER, 7000, 5, 3, True, at // DAY, None, f"[{at},)")


@pytest.mark.checklist("CON-01")
def test_staking_of_a_new_contract_is_not_read_before_hapi_0_27() -> None:
    stream = ContractStream(hapi_version=(0, 26, 0))
    stream.create(body={"staked_node_id": 3, "decline_reward": True})
    load(stream.block())

    assert entity("staked_node_id, decline_reward, stake_period_start") == (-1, False, -1)


@pytest.mark.checklist("CON-02")
def test_a_contract_without_admin_key_is_its_own_key() -> None:
    stream = ContractStream()
    stream.create()
    load(stream.block())

    implicit = Key(contractID=ContractID(contractNum=CONTRACT)).SerializeToString()
    assert entity("key, public_key") == (implicit, None)


def test_an_auto_renew_account_of_zero_is_a_recoverable_problem(caplog: Any) -> None:
    stream = ContractStream()
    stream.create(body={"auto_renew_account_id": account(0)})
    load(stream.block())

    assert entity("auto_renew_account_id") == (None,)
    assert "auto renew account of the new contract is 0.0.0" in caplog.text


@pytest.mark.checklist("CON-03")
def test_code_comes_from_the_bytecode_sidecar_of_the_contract() -> None:
    stream = ContractStream()
    stream.create(body={"fileID": file(FILE)}, sidecars=[bytecode(OTHER, b"no"), bytecode()])
    load(stream.block())

    assert stored("contract", CODE) == [(CONTRACT, FILE, b"init", b"runtime")]


@pytest.mark.checklist("CON-03")
def test_init_code_of_the_body_comes_first() -> None:
    stream = ContractStream()
    stream.create(body={"initcode": b"of the body"}, sidecars=[bytecode()])
    load(stream.block())

    assert stored("contract", CODE) == [(CONTRACT, None, b"of the body", b"runtime")]


@pytest.mark.checklist("CON-03")
def test_without_a_sidecar_only_the_file_of_the_code_is_known() -> None:
    stream = ContractStream()
    stream.create_file(contents=b"0x6001")
    stream.create(body={"fileID": file(FILE)})
    load(stream.block())

    assert stored("contract", CODE) == [(CONTRACT, FILE, None, None)]


@pytest.mark.checklist("CON-03", "FIL-07")
def test_a_sidecar_without_init_code_leaves_it_to_the_file_and_the_constructor_parameters() -> None:
    stream = ContractStream()
    stream.create_file(contents=b"0x60")
    block = stream.block()
    stream.append(contents=b"01")
    stream.create(
        body={"fileID": file(FILE), "constructorParameters": b"\xff"}, sidecars=[bytecode(initcode=b"")]
    )
    load_in_any_batches(block, stream.block())

    assert stored("contract", CODE) == [(CONTRACT, FILE, b"\x60\x01\xff", b"runtime")]


@pytest.mark.checklist("CON-04")
def test_bytecode_of_a_migration_is_not_that_of_the_creation() -> None:
    stream = ContractStream()
    stream.create(sidecars=[bytecode(OTHER, b"", b"old", migration=True), bytecode()])
    load(stream.block())

    assert stored("contract", CODE) == [(CONTRACT, None, b"init", b"runtime"), (OTHER, None, None, b"old")]


@pytest.mark.checklist("CON-05")
@pytest.mark.parametrize(
    ("of_parent", "inherited"),
    [({"fileID": file(FILE)}, (FILE, None)), ({"initcode": b"of the parent"}, (None, b"of the parent"))],
    ids=["file", "init code"],
)
def test_a_contract_created_by_a_creation_has_its_code_from_there(of_parent: Any, inherited: Any) -> None:
    stream = ContractStream()
    parent = stream.create(OTHER, of_parent)
    stream.create(CONTRACT, parent=parent, nonce=1)
    load(stream.block())

    assert stored("contract", "file_id, initcode", f"id = {CONTRACT}") == [inherited]


@pytest.mark.checklist("CON-05")
@pytest.mark.parametrize(
    ("call_data_file", "sidecars", "inherited"),
    [(FILE, [], (FILE, None)), (0, [], (None, b"call data")), (0, [bytecode()], (None, b"init"))],
    ids=["file", "call data", "its own sidecar"],
)
def test_a_contract_created_by_an_ethereum_transaction(
    call_data_file: int, sidecars: Any, inherited: Any
) -> None:
    stream = ContractStream()
    data = ethereum_data(b"" if call_data_file else b"call data")
    parent = stream.ethereum(data, function_result(), call_data=call_data_file)
    stream.create(CONTRACT, parent=parent, nonce=1, sidecars=sidecars)
    load(stream.block())

    assert stored("contract", "file_id, initcode") == [inherited]


@pytest.mark.checklist("CON-06")
@pytest.mark.parametrize(
    ("body", "sidecars", "failed_initcode"),
    [
        ({"initcode": b"of the body"}, [], b"of the body"),
        ({"fileID": file(FILE)}, [bytecode(0)], b"init"),
        ({"fileID": file(FILE)}, [], None),
    ],
    ids=["of the body", "of the sidecar", "unknown"],
)
def test_a_failed_creation_leaves_a_result_with_its_init_code(
    body: Any, sidecars: Any, failed_initcode: bytes | None
) -> None:
    stream = ContractStream()
    stream.create(body=body, sidecars=sidecars, result=REVERTED, receipt={})
    load(stream.block())

    assert stored("contract_result", "contract_id, failed_initcode") == [(0, failed_initcode)]
    assert stored("entity", "id") == stored("contract", "id") == []


@pytest.mark.checklist("CON-07")
def test_contracts_are_left_out_if_configured() -> None:
    stream = ContractStream()
    stream.create(sidecars=[bytecode()])
    stream.call(ran=function_result(logInfo=[log()]))
    with settings(persist__contracts=False):
        load(stream.block())

    assert len(stored("transaction", "consensus_timestamp")) == 2
    assert contents().keys() == {
        "crypto_transfer",
        "record_file",
        "sidecar_file",
        "transaction",
        "transaction_hash",
    }


@pytest.mark.checklist("CON-08")
def test_an_update_changes_what_it_sets_and_never_the_code() -> None:
    stream = ContractStream()
    created = stream.create(body={"fileID": file(FILE), "memo": "before", "autoRenewPeriod": {"seconds": 7}})
    updated = stream.happen(
        "contractUpdateInstance",
        {
            "contractID": contract(CONTRACT),
            "adminKey": KEY,
            "expirationTime": {"seconds": 9},
            "auto_renew_account_id": account(CALLER),
            "max_automatic_token_associations": {"value": -1},
            "fileID": file(FILE + 1),
            "memoWrapper": {"value": ""},
            "staked_account_id": account(CALLER),
            "decline_reward": {"value": True},
        },
    )
    load(stream.block())

    assert entity(
        "key, expiration_timestamp, auto_renew_account_id, auto_renew_period, memo,"
        "max_automatic_token_associations, staked_account_id, staked_node_id, decline_reward,"
        "stake_period_start, created_timestamp, timestamp_range"
    ) == (
        *(KEY_BYTES, 9 * 10**9, CALLER, 7, "", -1, CALLER, -1, True, updated // DAY),
        *(created, f"[{updated},)"),
    )
    assert stored("entity_history", "memo, timestamp_range", f"id = {CONTRACT}") == [
        ("before", f"[{created},{updated})")
    ]
    assert stored("contract", "id, file_id") == [(CONTRACT, FILE)]


@pytest.mark.checklist("CON-08")
@pytest.mark.parametrize(
    ("memo", "kept"),
    [({}, "before"), ({"memo": "after"}, "after"), ({"memo": ""}, "before")],
    ids=["no memo", "a plain memo", "an empty plain memo"],
)
def test_a_plain_memo_counts_unless_it_is_empty(memo: Any, kept: str) -> None:
    stream = ContractStream()
    stream.create(body={"memo": "before"})
    stream.happen("contractUpdateInstance", {"contractID": contract(CONTRACT)} | memo)
    load(stream.block())

    assert entity("memo") == (kept,)


@pytest.mark.checklist("CON-08")
def test_an_auto_renew_account_of_zero_clears_it_in_an_update() -> None:
    stream = ContractStream()
    stream.create(body={"auto_renew_account_id": account(CALLER)})
    stream.happen(
        "contractUpdateInstance", {"contractID": contract(CONTRACT), "auto_renew_account_id": account(0)}
    )
    load(stream.block())

    assert entity("auto_renew_account_id") == (0,)


@pytest.mark.checklist("CON-09", "ID-07")
@pytest.mark.parametrize("in_receipt", [True, False])
def test_an_update_by_evm_address_finds_the_contract(in_receipt: bool) -> None:
    stream = ContractStream()
    stream.create(created=function_result(evm_address={"value": ADDRESS}))
    block = stream.block()
    at = stream.happen(
        "contractUpdateInstance",
        {"contractID": evm_contract(ADDRESS), "memoWrapper": {"value": "found"}},
        receipt={"contractID": contract(CONTRACT)} if in_receipt else {},
    )
    load_in_any_batches(block, stream.block())

    assert entity("memo") == ("found",)
    assert stored("transaction", "entity_id", f"consensus_timestamp = {at}") == [(CONTRACT,)]


@pytest.mark.checklist("CON-10")
@pytest.mark.parametrize(
    "obtainer",
    [{"transferAccountID": account(OTHER)}, {"transferContractID": evm_contract(ADDRESS)}],
    ids=["account", "contract"],
)
def test_a_deleted_contract_names_the_receiver_of_its_balance(obtainer: Any) -> None:
    stream = ContractStream()
    stream.create()
    stream.create(OTHER, created=function_result(OTHER, evm_address={"value": ADDRESS}))
    stream.happen(
        "contractDeleteInstance", {"contractID": contract(CONTRACT), "permanent_removal": True} | obtainer
    )
    load(stream.block())

    assert entity("deleted, obtainer_id, permanent_removal") == (True, OTHER, True)


def test_a_failed_update_or_deletion_changes_nothing() -> None:
    stream = ContractStream()
    created = stream.create()
    for kind in ("contractUpdateInstance", "contractDeleteInstance"):
        stream.happen(kind, {"contractID": contract(CONTRACT)}, result=REVERTED)
    load(stream.block())

    assert entity("deleted, timestamp_range") == (False, f"[{created},)")
