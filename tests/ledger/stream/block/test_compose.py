"""A composed block says what the composed record file of the same transactions says."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.stream.block.block_file import read_block_file, verify
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile
from ledger.stream.record_formats import read_record_file
from ledger.stream.record_item import RecordItem
from mirror.core.values.hapi.messages import Block as NativeBlockMessage
from mirror.core.values.hapi.messages import (
    ContractStateChanges,
    SignedTransaction,
    TransactionRecord,
    TransactionSidecarRecord,
)
from mirror.demo.publish.history import History
from mirror.demo.streams.block_stream import BlockComposer, NativeBlock
from mirror.demo.streams.record_files import Block, timestamp
from mirror.demo.streams.state_changes import is_identical
from mirror.demo.streams.threshold_signer import ThresholdSigner
from tests.ledger.compose import Stream, num

NODES = ThresholdSigner({0: 10, 1: 20, 2: 30}, "composed")
# Not in a block: what the network computes from the transaction itself, or leaves to the state.
DERIVED = {
    "alias",
    "bloom",
    "ethereum_hash",
    "evm_address",
    "logInfo",
    "receipt",
}
OF_ETHEREUM = {"gas", "amount", "functionParameters"}


@pytest.fixture(scope="module")
def history(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[Block, RecordFile]]:
    """The blocks of a short history, each composed, written and read."""
    folder = tmp_path_factory.mktemp("blocks")
    composer = BlockComposer(NODES)
    return [(block, _written(composer, block, folder)) for _, block in History(8, 40, 3).play(())]


def _written(composer: BlockComposer, block: Block, folder: Path) -> RecordFile:
    path = composer.block(block).write(folder)
    return read_block_file(str(path), path.read_bytes())


def _items(history: list[tuple[Block, RecordFile]]) -> Iterator[tuple[Any, RecordItem, RecordItem]]:
    for block, native in history:
        recorded = read_record_file(block.name, block.data)
        yield from zip(block.transactions, recorded.items, native.items, strict=True)


def test_blocks_follow_each_other_and_the_nodes_have_signed_them(
    history: list[tuple[Block, RecordFile]],
) -> None:
    assert [block.block_number for _, block in history] == list(range(len(history)))
    for (_, before), (_, after) in zip(history, history[1:], strict=False):
        assert after.previous_hash == before.hash
    for _, block in history:
        verify(block, NODES.identity)


def test_others_have_not_signed_them(history: list[tuple[Block, RecordFile]]) -> None:
    with pytest.raises(StreamFileError, match="threshold signature is refused"):
        verify(history[1][1], ThresholdSigner({0: 10, 1: 20, 2: 30}, "others").identity)


def test_transactions_records_and_sidecars_are_those_of_the_record_file(
    history: list[tuple[Block, RecordFile]],
) -> None:
    for composed, recorded, native in _items(history):
        assert native.transaction_bytes == recorded.transaction_bytes
        assert native.successful == recorded.successful
        record = TransactionRecord.FromString(native.record_bytes)
        assert _fields(record, DERIVED) == _fields(recorded.record, DERIVED)
        which = recorded.record.WhichOneof("body")
        if which is not None:
            left_out = DERIVED | (OF_ETHEREUM if composed.body.HasField("ethereumTransaction") else set())
            results = [getattr(each.record, which) for each in (native, recorded)]
            assert _fields(results[0], left_out) == _fields(results[1], left_out)
        assert _serialized(native.sidecar_records) == _serialized(composed.sidecars)


def test_state_changes_of_a_group_follow_the_parent_alone() -> None:
    stream = Stream()
    stream.happen("freeze", {})
    mints = [SignedTransaction(bodyBytes=bytes([number])).SerializeToString() for number in (1, 2)]
    batch = stream.happen("atomic_batch", {"transactions": mints})
    for total in (5, 6):
        record = {"receipt": {"newTotalSupply": total}, "parent_consensus_timestamp": timestamp(batch)}
        stream.happen("tokenMint", {"token": {"tokenNum": 5001}, "amount": 1}, record)

    composed = BlockComposer().block(stream.block())

    told = [
        item.state_changes
        for item in NativeBlockMessage.FromString(composed.content).items
        if item.HasField("state_changes")
    ]
    supplies = [
        (each.consensus_timestamp, change.map_update.value.token_value.total_supply)
        for each in told
        for change in each.state_changes
        if change.state_id == 7
    ]
    assert supplies == [(timestamp(batch), 6)]
    (at_the_end,) = told[-1].state_changes
    assert at_the_end.HasField("singleton_update")
    assert [item.record.receipt.newTotalSupply for item in read_content(composed).items[-2:]] == [5, 6]


def test_the_call_of_a_hook_names_it_and_changes_its_storage() -> None:
    stream = Stream()
    contract = {"contractNum": 365}
    hook = {"hook_id": 7, "evm_hook_call": {"gas_limit": 5}}
    transfer = {"accountAmounts": [{"accountID": num(1002), "amount": -1, "pre_tx_allowance_hook": hook}]}
    at = stream.happen("cryptoTransfer", {"transfers": transfer})
    storage = [{"slot": b"\1", "value_read": b"\2", "value_written": {"value": b"\3"}}]
    changes = {"contract_state_changes": [{"contract_id": contract, "storage_changes": storage}]}
    stream.happen(
        "contractCall",
        {"contractID": contract},
        {"contractCallResult": {"contractID": contract}, "parent_consensus_timestamp": timestamp(at)},
        sidecars=[TransactionSidecarRecord(state_changes=changes)],
    )
    block = stream.block()

    changed = [change for change in _state_changes(block)[0] if change.state_id in (4, 52)]
    native = read_content(BlockComposer().block(block))

    assert [(change.state_id, change.map_update.key.evm_hook_slot_key.key) for change in changed] == [
        (52, b"\1")
    ]
    assert native.items[1].executed_hook == (1002, 7)
    (sidecar,) = native.items[1].sidecar_records
    assert sidecar.state_changes == ContractStateChanges(**changes)


def test_an_account_that_delegates_has_its_nonce_in_the_state() -> None:
    stream = Stream()
    result = {"sender_id": num(1002), "signer_nonce": {"value": 9}, "gasUsed": 5}
    stream.happen("ethereumTransaction", {}, {"contractCallResult": result})
    first = stream.block()
    stream.send({1002: -1, 1003: 1})
    composer = BlockComposer()
    composer.block(first)

    later = _state_changes(stream.block(), composer)[0]

    accounts = [change.map_update.value.account_value for change in later]
    assert [(each.account_id.accountNum, each.ethereum_nonce) for each in accounts] == [(1002, 9), (1003, 0)]


def _state_changes(block: Block, composer: BlockComposer | None = None) -> list[Any]:
    """Return the changes of the state in the items of a composed block."""
    content = (composer or BlockComposer()).block(block).content
    return [
        item.state_changes.state_changes
        for item in NativeBlockMessage.FromString(content).items
        if item.HasField("state_changes")
    ]


def read_content(native: NativeBlock) -> RecordFile:
    name = f"{native.number:019}.blk"
    return read_block_file(name, native.content)


def _fields(message: Any, left_out: set[str]) -> dict[str, Any]:
    results = {"contractCallResult", "contractCreateResult"}
    return {
        field.name: value for field, value in message.ListFields() if field.name not in left_out | results
    }


def _without_identical_writes(sidecar: Any) -> Any:
    """Return a sidecar record without the writes of the value that was read: blocks tell most as reads."""
    without = TransactionSidecarRecord()
    without.CopyFrom(sidecar)
    for touched in without.state_changes.contract_state_changes:
        for change in touched.storage_changes:
            if is_identical(change):
                change.ClearField("value_written")
    return without


def _serialized(messages: Any) -> list[bytes]:
    return sorted(
        _without_identical_writes(message).SerializeToString(deterministic=True) for message in messages
    )


def test_a_write_of_the_value_that_was_read_is_an_identical_update_and_a_read_by_key() -> None:
    stream = Stream()
    contract = {"contractNum": 2001}
    storage: list[dict[str, Any]] = [
        {"slot": b"\1", "value_read": b"\4", "value_written": {"value": b"\4"}},
        {"slot": b"\2", "value_read": b"\4", "value_written": {"value": b"\5"}},
        {"slot": b"\3", "value_written": {}},
    ]
    changes = {"contract_state_changes": [{"contract_id": contract, "storage_changes": storage}]}
    stream.happen(
        "contractCall",
        {"contractID": contract},
        {"contractCallResult": {"contractID": contract}},
        sidecars=[TransactionSidecarRecord(state_changes=changes)],
    )
    block = stream.block()

    changed = [change for change in _state_changes(block)[0] if change.state_id == 4]
    (sidecar,) = read_content(BlockComposer().block(block)).items[0].sidecar_records

    kinds = [(each.WhichOneof("change_operation"), each.map_update.identical) for each in changed]
    assert kinds == [("map_update", True), ("map_update", False), ("map_delete", False)]
    del storage[0]["value_written"]
    assert sidecar.state_changes == ContractStateChanges(**changes)


def test_ids_and_totals_of_receipts_follow_from_outputs_and_state(
    history: list[tuple[Block, RecordFile]],
) -> None:
    told = 0
    for _, recorded, native in _items(history):
        for name in ("fileID", "topicID", "tokenID", "scheduleID", "newTotalSupply", "topicSequenceNumber",
                     "topicRunningHash", "serialNumbers", "node_id", "registered_node_id"):  # fmt: skip
            expected = getattr(recorded.record.receipt, name)
            assert getattr(native.record.receipt, name) == expected, name
            told += bool(expected)
    assert told > 50
