"""Results of contracts, put together from outputs, traces and state changes."""

from typing import Any

import pytest

from mirror.core.values import log_bloom
from tests.ledger.stream.block.blocks import (
    ACCOUNTS,
    BYTECODE,
    OTHER,
    STORAGE,
    BlockStream,
    delete,
    items_of,
    update,
)


def evm(contract=2001, gas_used=500, **more):
    return {"contract_id": {"contractNum": contract}, "gas_used": gas_used, "result_data": b"out"} | more


def slot(key, value, contract=2001, *, identical=False):
    key = {"slot_key_key": {"contractID": {"contractNum": contract}, "key": key}}
    if value is None:
        return delete(STORAGE, key)
    change = update(STORAGE, key, {"slot_value_value": {"value": value}})
    change.map_update.identical = identical
    return change


def storage_changes_of(item):
    (record,) = item.sidecar_records
    (changed,) = record.state_changes.contract_state_changes
    return [
        (each.slot, each.value_read, each.value_written.value if each.HasField("value_written") else None)
        for each in changed.storage_changes
    ]


def test_a_call_has_its_result_and_logs():
    stream = BlockStream()
    logs = [
        {"contract_id": {"contractNum": 2001}, "data": b"d", "topics": [b"\1" * 32, b"\2"]},
        {"contract_id": {"evm_address": b"e" * 20}, "data": b""},
    ]
    context = {"gas": 9, "value": 8, "call_data": b"call"}
    result = evm(
        sender_id=OTHER,
        error_message="odd",
        internal_call_context=context,
        contract_nonces=[{"contract_id": {"contractNum": 2001}, "nonce": 2}],
        signer_nonce={"value": 3},
    )
    stream.happen(
        "contractCall",
        outputs=[{"contract_call": {"evm_transaction_result": result}}],
        traces=[{"evm_trace_data": {"logs": logs}}],
    )

    (item,) = items_of(stream)

    result = item.record.contractCallResult
    assert item.record.receipt.contractID.contractNum == result.contractID.contractNum == 2001
    assert (result.gasUsed, result.contractCallResult, result.errorMessage) == (500, b"out", "odd")
    assert (result.gas, result.amount, result.functionParameters) == (9, 8, b"call")
    assert (result.sender_id.accountNum, result.signer_nonce.value) == (1002, 3)
    assert result.contract_nonces[0].nonce == 2
    assert [(log.data, list(log.topic)) for log in result.logInfo] == [(b"d", [b"\1" * 32, b"\2"]), (b"", [])]
    assert item.sidecar_records == []


def test_blooms_are_over_the_addresses_that_the_block_has_told_and_left_to_the_loader_for_other_contracts():
    stream = BlockStream()
    known: dict[str, Any] = {"account_id": {"accountNum": 2002}, "alias": b"k" * 20, "smart_contract": True}
    for contracts in ([{"contractNum": 2002}, {"evm_address": b"e" * 20}], [{"contractNum": 2001}], []):
        stream.happen(
            "contractCall",
            outputs=[{"contract_call": {"evm_transaction_result": evm()}}],
            traces=[{"evm_trace_data": {"logs": [{"contract_id": each} for each in contracts]}}],
            changes=[update(ACCOUNTS, {}, {"account_value": known})] if known else [],
        )
        known = {}

    told, untold, without = (item.record.contractCallResult for item in items_of(stream))

    blooms = [log_bloom.create_bloom(b"k" * 20, []), log_bloom.create_bloom(b"e" * 20, [])]
    assert [log.bloom for log in told.logInfo] == blooms
    assert told.bloom == log_bloom.union(blooms)
    assert ([log.bloom for log in untold.logInfo], untold.bloom) == ([b""], b"")
    assert without.bloom == bytes(256)


def test_created_contracts_are_listed_by_the_call_that_caused_them_and_by_creations():
    stream = BlockStream()

    def create(number: int, parent: int | None = None) -> int:
        outputs = [{"contract_create": {"evm_transaction_result": evm(number)}}]
        return stream.happen("contractCreateInstance", outputs=outputs, parent=parent)

    call = stream.happen("contractCall", outputs=[{"contract_call": {"evm_transaction_result": evm(2001)}}])
    create(2002, parent=call)
    create(2003, parent=call)
    own = stream.happen(
        "ethereumTransaction", outputs=[{"ethereum_call": {"evm_create_transaction_result": evm(2004)}}]
    )
    create(2004, parent=own)  # as networks tell of it again
    create(2005)

    records = [item.record for item in items_of(stream)]

    results = [getattr(record, record.WhichOneof("body")) for record in records]
    assert [[each.contractNum for each in result.createdContractIDs] for result in results] == [
        [2002, 2003],
        [],
        [],
        [2004],
        [],
        [2005],
    ]


def test_the_receipt_of_what_a_system_contract_caused_names_no_contract():
    stream = BlockStream()
    call = stream.happen("contractCall", outputs=[{"contract_call": {"evm_transaction_result": evm()}}])
    outputs = [{"contract_call": {"evm_transaction_result": evm(359)}}]
    stream.happen("tokenAssociate", outputs=outputs, parent=call)

    called, associated = (item.record for item in items_of(stream))

    assert called.receipt.contractID.contractNum == 2001
    assert not associated.receipt.HasField("contractID")
    assert associated.contractCallResult.contractID.contractNum == 359


def test_storage_is_read_by_key_and_written_by_index():
    stream = BlockStream()
    contract = {"contract_id": {"contractNum": 2001}}
    inner = [stream.signed("contractCall")] * 2
    changes = [slot(b"\1".rjust(32, b"\0"), b"\0\7"), slot(b"\2", None), slot(b"\3", b"\5")]
    at = stream.happen("atomic_batch", {"transactions": inner}, changes=changes)
    first = contract | {
        "written_slot_keys": {"keys": [b"\1", b"\2"]},
        "slot_reads": [
            {"index": 0, "read_value": b"\0\1"},
            {"index": 1, "read_value": b"\4"},
            {"key": b"\x09", "read_value": b"\0"},
        ],
    }
    second = contract | {"slot_reads": [{"index": 0, "read_value": b"\6"}, {"index": 2}, {"index": 3}]}
    stream.happen("", inner=True, parent=at, traces=[{"evm_trace_data": {"contract_slot_usages": [first]}}])
    stream.happen("", inner=True, parent=at, traces=[{"evm_trace_data": {"contract_slot_usages": [second]}}])

    _, one, two = items_of(stream)

    assert storage_changes_of(one) == [(b"\1", b"\1", b"\6"), (b"\2", b"\4", b""), (b"\x09", b"", None)]
    assert storage_changes_of(two) == [(b"\1".rjust(32, b"\0"), b"\6", b"\7"), (b"\3", b"", b"\5")]


@pytest.mark.parametrize(
    ("written", "read", "expected"),
    [
        ([], {"index": 0}, (b"\2", b"\4", b"\5")),
        ([], {"key": b"\1"}, (b"\1", b"\4", None)),
        ([b"\1"], {"index": 0}, (b"\1", b"\4", b"\4")),
    ],
    ids=["by index", "by key", "written explicitly"],
)
def test_slots_whose_update_is_identical_have_no_index(written, read, expected):
    stream = BlockStream()
    usage = {"contract_id": {"contractNum": 2001}, "slot_reads": [read | {"read_value": b"\4"}]}
    stream.happen(
        "contractCall",
        traces=[
            {"evm_trace_data": {"contract_slot_usages": [usage | {"written_slot_keys": {"keys": written}}]}}
        ],
        changes=[slot(b"\1", b"\4", identical=True), slot(b"\2", b"\5")],
    )

    (item,) = items_of(stream)

    assert storage_changes_of(item) == [expected]


@pytest.mark.parametrize(
    ("initcode", "whole"),
    [
        ({"explicit_initcode": b"init"}, b"init"),
        ({"initcode_bookends": {"deploy_bytecode": b"<", "metadata_bytecode": b">"}}, b"<runtime>"),
        (None, b""),
    ],
)
def test_a_creation_has_bytecode_and_address(initcode, whole):
    contract = {"contractNum": 2001}
    stream = BlockStream()
    account = {"account_id": {"accountNum": 2001}, "alias": b"c" * 20, "smart_contract": True}
    trace = {"contract_actions": [{"call_type": 2, "gas": 5}]}
    if initcode:
        trace["executed_initcode"] = {"contract_id": contract} | initcode
    stream.happen(
        "contractCreateInstance",
        outputs=[{"contract_create": {"evm_transaction_result": evm()}}],
        traces=[{"evm_trace_data": trace}],
        changes=[
            update(BYTECODE, {"contract_id_key": contract}, {"bytecode_value": {"code": b"runtime"}}),
            update(ACCOUNTS, {}, {"account_value": account}),
        ],
    )

    (item,) = items_of(stream)

    assert item.record.contractCreateResult.evm_address.value == b"c" * 20
    actions, bytecode = item.sidecar_records
    assert actions.actions.contract_actions[0].gas == 5
    assert bytecode.bytecode.contract_id.contractNum == 2001
    assert (bytecode.bytecode.initcode, bytecode.bytecode.runtime_bytecode) == (whole, b"runtime")
    assert bytecode.consensus_timestamp == item.record.consensusTimestamp


def test_an_ethereum_creation_has_bytecode():
    contract = {"contractNum": 2001}
    stream = BlockStream()
    stream.happen(
        "ethereumTransaction",
        outputs=[{"ethereum_call": {"evm_create_transaction_result": evm()}}],
        traces=[
            {"evm_trace_data": {"executed_initcode": {"contract_id": contract, "explicit_initcode": b"init"}}}
        ],
        changes=[update(BYTECODE, {"contract_id_key": contract}, {"bytecode_value": {"code": b"runtime"}})],
    )

    (item,) = items_of(stream)

    (sidecar,) = item.sidecar_records
    assert sidecar.bytecode.contract_id.contractNum == 2001
    assert (sidecar.bytecode.initcode, sidecar.bytecode.runtime_bytecode) == (b"init", b"runtime")


def test_an_ethereum_transaction_calls_or_creates_and_without_gas_has_no_contract():
    stream = BlockStream()
    for which, gas_used in (
        ("evm_call_transaction_result", 5),
        ("evm_create_transaction_result", 5),
        ("evm_call_transaction_result", 0),
    ):
        stream.happen("ethereumTransaction", outputs=[{"ethereum_call": {which: evm(gas_used=gas_used)}}])

    called, created, unused = (item.record for item in items_of(stream))

    assert called.WhichOneof("body") == unused.WhichOneof("body") == "contractCallResult"
    assert created.WhichOneof("body") == "contractCreateResult"
    assert [record.receipt.HasField("contractID") for record in (called, created, unused)] == [
        True,
        True,
        False,
    ]
    assert unused.contractCallResult.contractID.contractNum == 2001
