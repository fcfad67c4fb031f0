"""What sidecars tell: state, its changes, actions, bytecode."""

from typing import Any

import pytest

from mirror.demo.streams.record_files import account
from tests.contracts.compose import (
    CALLER,
    CONTRACT,
    OTHER,
    ContractStream,
    actions,
    bytecode,
    change,
    contract,
    function_result,
    state,
)
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.django_db(transaction=True)

REVERTED = 33
CHANGE = "consensus_timestamp, contract_id, slot, value_read, value_written, migration, payer_account_id"
STATE = "contract_id, slot, value, created_timestamp, modified_timestamp"
ACTION: dict[str, Any] = {
    "call_type": 1,
    "calling_account": account(CALLER),
    "recipient_contract": contract(CONTRACT),
    "output": b"out",
}


def slot(number: int) -> bytes:
    return number.to_bytes(32, "big")


@pytest.mark.checklist("CON-22")
def test_a_slot_that_was_only_read_is_not_one_that_was_emptied() -> None:
    stream = ContractStream()
    changes = state(change(b"\1", b"r"), change(b"\2", b"r", b""), change(b"\3", b"r", b"w"))
    at = stream.call(ran=function_result(), sidecars=[changes])
    load(stream.block())

    assert stored("contract_state_change", CHANGE) == [
        (at, CONTRACT, b"\1", b"r", None, False, CALLER),
        (at, CONTRACT, b"\2", b"r", b"", False, CALLER),
        (at, CONTRACT, b"\3", b"r", b"w", False, CALLER),
    ]


@pytest.mark.checklist("CON-23")
def test_the_state_is_the_last_write_of_each_slot_of_32_bytes() -> None:
    stream = ContractStream()
    first = stream.call(
        ran=function_result(),
        sidecars=[state(change(b"\1", b"r"), change(b"\2", b"", b"a"), change(b"\3", b"", b"b"))],
    )
    blocks = [stream.block()]
    second = stream.call(ran=function_result(), sidecars=[state(change(b"\2", b"a", b""))])
    third = stream.call(ran=function_result(), sidecars=[state(change(slot(3), b"b", b"c"))])
    load_in_any_batches(*blocks, stream.block())

    assert stored("contract_state", STATE) == [
        (CONTRACT, slot(2), b"", first, second),
        (CONTRACT, slot(3), b"c", first, third),
    ]


@pytest.mark.checklist("CON-23")
def test_the_state_after_a_migration_is_the_value_read() -> None:
    stream = ContractStream()
    at = stream.happen(
        "fileUpdate", {}, sidecars=[state(change(b"\1", b"r"), change(b"\2", b"r", b"w"), migration=True)]
    )
    load(stream.block())

    assert stored("contract_state", STATE) == [
        (CONTRACT, slot(1), b"r", at, at),
        (CONTRACT, slot(2), b"w", at, at),
    ]
    assert stored("contract_state_change", "slot, migration") == [(b"\1", True), (b"\2", True)]


@pytest.mark.checklist("CON-20")
@pytest.mark.parametrize(
    ("given", "stored_as"),
    [
        ({}, (CALLER, "ACCOUNT", None, CONTRACT, None, b"out", 11)),
        (
            {"calling_contract": contract(OTHER), "recipient_account": account(1005), "revert_reason": b""},
            (OTHER, "CONTRACT", 1005, None, None, b"", 12),
        ),
        (
            {"targeted_address": b"\xab" * 20, "error": b"BAD"},
            (CALLER, "ACCOUNT", None, None, b"\xab" * 20, b"BAD", 13),
        ),
    ],
    ids=["output", "revert reason", "error"],
)
def test_actions_have_caller_recipient_and_result(given: dict[str, Any], stored_as: Any) -> None:
    stream = ContractStream()
    stream.call(ran=function_result(), sidecars=[actions(oneofs(ACTION, given))])
    load(stream.block())

    assert stored(
        "contract_action",
        "caller, caller_type, recipient_account, recipient_contract, recipient_address, result_data,"
        "result_data_type",
    ) == [stored_as]


def oneofs(action: dict[str, Any], given: dict[str, Any]) -> dict[str, Any]:
    """`action` with what is given, which replaces the other members of its oneofs."""
    members = [
        {"calling_account", "calling_contract"},
        {"recipient_account", "recipient_contract", "targeted_address"},
        {"output", "revert_reason", "error"},
    ]
    gone = {name for names in members if names & given.keys() for name in names}
    return {name: value for name, value in action.items() if name not in gone} | given


@pytest.mark.checklist("CON-20")
def test_actions_have_their_order_depth_kind_and_gas() -> None:
    stream = ContractStream()
    numbers = {"gas": 90, "gas_used": 80, "value": 7, "input": b"in", "call_operation_type": 1}
    inner = ACTION | {"call_depth": 1, "call_type": 3, "call_operation_type": 4}
    at = stream.call(ran=function_result(), sidecars=[actions(ACTION | numbers, inner)])
    load(stream.block())

    assert stored(
        "contract_action",
        "consensus_timestamp, index, call_depth, call_type, call_operation_type, gas, gas_used, value, input,"
        "payer_account_id",
    ) == [(at, 0, 0, 1, 1, 90, 80, 7, b"in", CALLER), (at, 1, 1, 3, 4, 0, 0, 0, b"", CALLER)]


@pytest.mark.checklist("CON-21", "FILE-16")
@pytest.mark.parametrize(
    ("action", "problem"),
    [
        ({"recipient_contract": contract(CONTRACT), "output": b""}, "has no caller"),
        ({"calling_account": account(CALLER), "recipient_contract": contract(CONTRACT)}, "no result data"),
        (
            {"calling_contract": contract(-1), "recipient_account": account(5), "output": b""},
            "the caller of a contract action is impossible",
        ),
    ],
    ids=["no caller", "no result", "impossible"],
)
def test_an_incomplete_action_is_stored(action: dict[str, Any], problem: str, caplog: Any) -> None:
    stream = ContractStream()
    stream.call(ran=function_result(), sidecars=[actions(action)])
    load(stream.block())

    assert stored("contract_action", "index") == [(0,)]
    assert problem in caplog.text


@pytest.mark.checklist("CON-24")
def test_sidecars_of_a_failed_transaction_count() -> None:
    stream = ContractStream()
    sidecars = [state(change(b"\1", b"r")), actions(ACTION)]
    stream.call(ran=function_result(), sidecars=sidecars, result=REVERTED)
    load(stream.block())

    assert len(stored("contract_state_change", "slot")) == len(stored("contract_action", "index")) == 1


@pytest.mark.checklist("CON-25")
def test_bytecode_of_a_migration_makes_an_account_a_contract() -> None:
    stream = ContractStream()
    created = stream.crypto_create(CONTRACT).consensus_timestamp
    update = {"accountIDToUpdate": account(CONTRACT), "memo": {"value": "changed"}}
    updated = stream.happen("cryptoUpdateAccount", update)
    blocks = [stream.block()]
    migrated = [bytecode(CONTRACT, b"", b"code", migration=True), bytecode(OTHER, b"", b"2", migration=True)]
    stream.happen("fileUpdate", {}, sidecars=migrated)
    changed = stream.happen("contractUpdateInstance", {"contractID": contract(CONTRACT)})
    blocks.append(stream.block())
    load_in_any_batches(*blocks)

    assert stored("contract", "id, runtime_bytecode, initcode") == [
        (CONTRACT, b"code", None),
        (OTHER, b"2", None),
    ]
    assert stored("entity", "id, type, timestamp_range", f"id = {CONTRACT}") == [
        (CONTRACT, "CONTRACT", f"[{changed},)")
    ]
    assert stored("entity_history", "type, timestamp_range", f"id = {CONTRACT}") == [
        ("CONTRACT", f"[{created},{updated})"),
        ("CONTRACT", f"[{updated},{changed})"),
    ]


@pytest.mark.checklist("CON-25", "CON-03")
def test_a_migration_completes_the_code_of_a_known_contract() -> None:
    stream = ContractStream()
    stream.create(sidecars=[bytecode()])
    block = stream.block()
    stream.happen("fileUpdate", {}, sidecars=[bytecode(CONTRACT, b"", b"new", migration=True)])
    load_in_any_batches(block, stream.block())

    assert stored("contract", "id, initcode, runtime_bytecode") == [(CONTRACT, b"init", b"new")]


@pytest.mark.checklist("CON-07")
def test_without_contracts_no_sidecar_is_stored() -> None:
    stream = ContractStream()
    sidecars = [state(change(b"\1", b"r", b"w")), actions(ACTION), bytecode(migration=True)]
    stream.call(ran=function_result(), sidecars=sidecars)
    with settings(persist__contracts=False):
        load(stream.block())

    for table, column in (
        *(("contract_state_change", "slot"), ("contract_state", "slot"), ("contract_action", "index")),
        ("contract", "id"),
    ):
        assert stored(table, column) == []
