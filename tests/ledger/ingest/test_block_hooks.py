"""Storage that hooks (HIP-1195) write in blocks, from traces and state changes to tables."""

from pathlib import Path
from typing import Any

import pytest

from ledger.ingest.pipeline import Pipeline
from ledger.stream.source.local import find_record_files
from tests.ledger.ingest.load import stored
from tests.ledger.stream.block.blocks import BlockStream, delete, update

pytestmark = pytest.mark.usefixtures("ledger_tables")

HOOK_STORAGE, HOOKS = 52, 365
FIRST, SECOND = 11, 12
CONTRACT = {"contractNum": HOOKS}


def hook(number: int, owner: int = 1002) -> dict[str, Any]:
    return {"entity_id": {"account_id": {"accountNum": owner}}, "hook_id": number}


def slot(key: bytes, value: bytes | None, number: int = FIRST) -> Any:
    """The state change of a slot of a hook; None deletes it."""
    name = {"evm_hook_slot_key": {"hook_id": hook(number), "key": key}}
    if value is None:
        return delete(HOOK_STORAGE, name)
    return update(HOOK_STORAGE, name, {"slot_value_value": {"value": value}})


def transfer(stream: BlockStream, changes: Any = ()) -> int:
    amounts = [
        {"accountID": {"accountNum": 1002}, "amount": -2, "pre_tx_allowance_hook": {"hook_id": number}}
        for number in (FIRST, SECOND)
    ]
    return stream.happen("cryptoTransfer", {"transfers": {"accountAmounts": amounts}}, changes=changes)


def call(
    stream: BlockStream,
    parent: int,
    usage: dict[str, Any] | None,
    *changes: Any,
    number: int = FIRST,
    owner: int = 1002,
) -> int:
    """A child that calls a hook, with the slots it touched."""
    result = {"contract_id": CONTRACT, "gas_used": 5, "executed_hook_id": hook(number, owner)}
    touched = [{"contract_id": CONTRACT} | usage] if usage else []
    return stream.happen(
        "contractCall",
        {"contractID": CONTRACT},
        outputs=[{"contract_call": {"evm_transaction_result": result}}],
        traces=[{"evm_trace_data": {"contract_slot_usages": touched}}],
        changes=changes,
        parent=parent,
    )


def writes(*keys: bytes, read: bytes = b"") -> dict[str, Any]:
    return {
        "written_slot_keys": {"keys": keys},
        "slot_reads": [{"index": index, "read_value": read} for index in range(len(keys))],
    }


def load(stream: BlockStream, folder: Path) -> list[Any]:
    stream.block().write(folder)
    Pipeline().run(find_record_files([folder]))
    columns = "consensus_timestamp, hook_id, key, value_read, value_written, deleted"
    return stored("hook_storage_change", columns)


def key(number: int) -> bytes:
    return bytes((number,)).rjust(32, b"\0")


def test_a_value_that_a_hook_wrote_is_in_the_state_of_that_hook(tmp_path):
    stream = BlockStream()
    parent = transfer(stream)
    at = call(stream, parent, writes(b"\1", b"\2", read=b"\0\5"), slot(key(1), b"\0\7"), slot(b"\2", None))

    rows = load(stream, tmp_path)

    assert rows == [(at, FIRST, key(1), b"\5", b"\7", False), (at, FIRST, key(2), b"\5", b"", True)]
    assert stored("hook_storage", "owner_id, hook_id, key, value, deleted") == [
        (1002, FIRST, key(1), b"\7", False),
        (1002, FIRST, key(2), b"", True),
    ]
    assert stored("contract_state", "slot") == stored("contract_state_change", "slot") == []


@pytest.mark.parametrize("attached_to", ["the call", "the next call", "the parent"])
def test_value_may_come_from_a_later_call_or_an_attached_change(tmp_path, attached_to):
    stream = BlockStream()

    def changes_of(which: str) -> list[Any]:
        return [slot(b"\1", b"last")] if which == attached_to else []

    parent = transfer(stream, changes_of("the parent"))
    first = call(stream, parent, writes(b"\1"), *changes_of("the call"))
    again = call(stream, parent, writes(b"\1", read=b"once"), *changes_of("the next call"))

    assert load(stream, tmp_path) == [
        (first, FIRST, key(1), b"", b"once", False),
        (again, FIRST, key(1), b"once", b"last", False),
    ]


def test_hooks_have_storage_of_their_own_though_all_run_as_one_contract(tmp_path):
    stream = BlockStream()
    parent = transfer(stream)
    # The first call touches nothing, so it has no changes that the second's could be taken for.
    call(stream, parent, None)
    second = call(
        stream, parent, writes(b"\1"), slot(b"\1", b"one"), slot(b"\1", b"two", SECOND), number=SECOND
    )

    assert load(stream, tmp_path) == [(second, SECOND, key(1), b"", b"two", False)]


def test_a_slot_may_be_written_without_being_read_and_read_without_being_written(tmp_path):
    stream = BlockStream()
    parent = transfer(stream)
    usage = {"written_slot_keys": {"keys": [b"\1"]}, "slot_reads": [{"key": b"\2", "read_value": b"r"}]}
    at = call(stream, parent, usage, slot(b"\1", b"w"))

    assert load(stream, tmp_path) == [
        (at, FIRST, key(1), b"", b"w", False),
        (at, FIRST, key(2), b"r", None, False),
    ]


def test_hook_without_an_owner_has_no_storage(tmp_path, caplog):
    stream = BlockStream()
    parent = stream.happen("cryptoTransfer")
    call(stream, parent, writes(b"\1"), slot(b"\1", b"w"), owner=0)

    assert load(stream, tmp_path) == []
    assert stored("hook_storage", "owner_id") == []
    assert "its transfer calls no hook that the storage can belong to" in caplog.text
