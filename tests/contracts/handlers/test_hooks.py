"""Hooks: created, deleted, created again, and their storage, set outright or written by their calls."""

from typing import Any

import pytest

from mirror.core.values.hapi.messages import Key
from mirror.core.values.hashes import keccak256
from mirror.demo.streams.record_files import account
from tests.contracts.compose import (
    CALLER,
    CONTRACT,
    OTHER,
    ContractStream,
    change,
    contract,
    evm_contract,
    function_result,
    state,
)
from tests.ledger.ingest.load import load, load_in_any_batches, stored

pytestmark = pytest.mark.django_db(transaction=True)

KEY = {"ed25519": bytes(range(32))}
KEY_BYTES = Key(**KEY).SerializeToString()
ADDRESS = b"\xab" * 20
HOOKS = 365  # the hook system contract
FAILED = 15
HOOK = (
    "owner_id, hook_id, contract_id, admin_key, created_timestamp, deleted, type, extension_point,"
    "timestamp_range"
)
KIND = ("EVM", "ACCOUNT_ALLOWANCE_HOOK")
STORAGE = "owner_id, hook_id, key, value, deleted, created_timestamp, modified_timestamp"
CHANGE = "consensus_timestamp, owner_id, hook_id, key, value_read, value_written, deleted"


def details(hook_id: int = 1, *updates: Any, runs: Any = None, **more: Any) -> dict[str, Any]:
    """What creates a hook that runs contract `runs`, with its first storage."""
    spec = {"contract_id": contract(OTHER) if runs is None else runs}
    return {"hook_id": hook_id, "evm_hook": {"spec": spec, "storage_updates": updates}} | more


def set_slot(key: bytes, value: bytes) -> dict[str, Any]:
    return {"storage_slot": {"key": key, "value": value}}


def create(stream: ContractStream, *hooks: dict[str, Any], **options: Any) -> int:
    return stream.happen(
        "cryptoCreateAccount",
        {"hook_creation_details": hooks},
        receipt={"accountID": account(CALLER)},
        **options,
    )


def update(
    stream: ContractStream, *hooks: dict[str, Any], delete: tuple[int, ...] = (), **options: Any
) -> int:
    body = {
        "accountIDToUpdate": account(CALLER),
        "hook_ids_to_delete": delete,
        "hook_creation_details": hooks,
    }
    return stream.happen("cryptoUpdateAccount", body, **options)


def store(stream: ContractStream, *updates: Any, hook_id: int = 1, owner: Any = None, **options: Any) -> int:
    hook = {"entity_id": owner or {"account_id": account(CALLER)}, "hook_id": hook_id}
    return stream.happen("hook_store", {"hook_id": hook, "storage_updates": updates}, **options)


def slot(number: int) -> bytes:
    return number.to_bytes(32, "big")


@pytest.mark.checklist("HOK-01", "CRY-08")
def test_an_account_is_created_with_its_hooks() -> None:
    stream = ContractStream()
    at = create(stream, details(1), details(2, admin_key=KEY))
    load(stream.block())

    assert stored("hook", HOOK) == [
        (CALLER, 1, OTHER, None, at, False, *KIND, f"[{at},)"),
        (CALLER, 2, OTHER, KEY_BYTES, at, False, *KIND, f"[{at},)"),
    ]


@pytest.mark.checklist("HOK-01")
def test_the_contract_of_a_hook_is_found_by_its_address() -> None:
    stream = ContractStream()
    stream.create(OTHER, created=function_result(OTHER, evm_address={"value": ADDRESS}))
    create(stream, details(1, runs=evm_contract(ADDRESS)), details(2, runs=evm_contract(b"\1" * 20)))
    load(stream.block())

    assert stored("hook", "hook_id, contract_id") == [(1, OTHER), (2, None)]


@pytest.mark.checklist("HOK-02")
@pytest.mark.parametrize(
    "lacking", [{"hook_id": 1}, {"hook_id": 1, "evm_hook": {"spec": {}}}], ids=["no lambda", "no contract"]
)
def test_a_hook_without_a_contract_is_skipped(lacking: Any, caplog: Any) -> None:
    stream = ContractStream()
    create(stream, lacking, details(2))
    load(stream.block())

    assert stored("hook", "hook_id") == [(2,)]
    assert "hook 1 is created without the contract it runs" in caplog.text


@pytest.mark.checklist("HOK-03", "MRG-07")
def test_the_deletion_of_an_unknown_hook_makes_a_partial_row() -> None:
    stream = ContractStream()
    deleted = update(stream, delete=(1,))
    load(stream.block())

    assert stored("hook", HOOK) == [(CALLER, 1, None, None, None, True, *KIND, f"[{deleted},)")]


@pytest.mark.checklist("HOK-04", "HOK-05", "CRY-14", "MRG-11")
def test_a_hook_replaced_in_one_transaction_was_deleted_for_a_nanosecond() -> None:
    stream = ContractStream()
    created = create(stream, details(1, admin_key=KEY))
    block = stream.block()
    at = update(stream, details(1, runs=contract(CONTRACT)), delete=(1,))
    load_in_any_batches(block, stream.block())

    assert stored("hook", HOOK) == [(CALLER, 1, CONTRACT, None, at, False, *KIND, f"[{at + 1},)")]
    assert stored("hook_history", "deleted, admin_key, created_timestamp, timestamp_range") == [
        (False, KEY_BYTES, created, f"[{created},{at})"),
        (True, KEY_BYTES, created, f"[{at},{at + 1})"),
    ]


@pytest.mark.checklist("HOK-05")
def test_a_hook_created_again_takes_over_nothing() -> None:
    stream = ContractStream()
    first = create(stream, details(1, admin_key=KEY))
    blocks = [stream.block()]
    deleted = update(stream, delete=(1,))
    blocks.append(stream.block())
    again = update(stream, details(1))
    blocks.append(stream.block())
    last = update(stream, delete=(1,))
    load_in_any_batches(*blocks, stream.block())

    assert stored("hook", "admin_key, created_timestamp, deleted, timestamp_range") == [
        (None, again, True, f"[{last},)")
    ]
    assert stored("hook_history", "created_timestamp, admin_key, deleted, timestamp_range") == [
        (first, KEY_BYTES, False, f"[{first},{deleted})"),
        (first, KEY_BYTES, True, f"[{deleted},{again})"),
        (again, None, False, f"[{again},{last})"),
    ]


def test_hooks_of_a_failed_update_and_of_an_account_given_by_alias_do_not_count() -> None:
    stream = ContractStream()
    update(stream, details(1), result=FAILED)
    by_alias = {"accountIDToUpdate": {"alias": ADDRESS}, "hook_creation_details": [details(1)]}
    stream.happen("cryptoUpdateAccount", by_alias)
    load(stream.block())

    assert stored("hook", "hook_id") == []


@pytest.mark.checklist("HOK-06", "HOK-07")
def test_a_slot_is_stored_with_a_key_of_32_bytes_and_a_trimmed_value() -> None:
    stream = ContractStream()
    at = create(stream, details(1, set_slot(b"\1", b"\0\7"), set_slot(b"\2", b"\0\0")))
    load(stream.block())

    assert stored("hook_storage", STORAGE) == [
        (CALLER, 1, slot(1), b"\7", False, at, at),
        (CALLER, 1, slot(2), b"", True, at, at),
    ]
    assert stored("hook_storage_change", CHANGE) == [
        (at, CALLER, 1, slot(1), b"\7", b"\7", False),
        (at, CALLER, 1, slot(2), b"", b"", True),
    ]


@pytest.mark.checklist("HOK-06")
def test_entries_of_a_mapping_have_the_slots_of_solidity() -> None:
    stream = ContractStream()
    entries = [{"key": b"\5", "value": b"k"}, {"preimage": b"name", "value": b"p"}]
    store(stream, {"mapping_entries": {"mapping_slot": b"\3", "entries": entries}})
    load(stream.block())

    assert dict(stored("hook_storage", "key, value")) == {
        keccak256(slot(5) + slot(3)): b"k",
        keccak256(keccak256(b"name") + slot(3)): b"p",
    }


@pytest.mark.checklist("HOK-06")
def test_an_empty_update_is_a_recoverable_problem(caplog: Any) -> None:
    stream = ContractStream()
    store(stream, {}, set_slot(b"\1", b"a"))
    load(stream.block())

    assert stored("hook_storage", "value") == [(b"a",)]
    assert "neither a slot nor a mapping's entries" in caplog.text


@pytest.mark.checklist("HOK-12")
def test_the_last_value_of_a_slot_set_twice_counts() -> None:
    stream = ContractStream()
    at = store(stream, set_slot(b"\1", b"a"), set_slot(slot(1), b"b"))
    load(stream.block())

    assert stored("hook_storage_change", CHANGE) == [(at, CALLER, 1, slot(1), b"b", b"b", False)]


@pytest.mark.checklist("HOK-08")
@pytest.mark.parametrize("split", range(1, 5))
def test_the_life_of_a_slot_does_not_depend_on_batches(split: int) -> None:
    stream = ContractStream()
    times = []
    for number, value in enumerate([b"a", b"", b"b", b"c", b""]):
        times.append(store(stream, set_slot(b"\1", value)))
        if number + 1 == split:
            load(stream.block())
    load(stream.block())

    assert stored("hook_storage", "created_timestamp, modified_timestamp, deleted") == [
        (times[2], times[4], True)
    ]


@pytest.mark.checklist("HOK-09")
def test_storage_of_a_hook_is_set_by_its_owner() -> None:
    stream = ContractStream()
    of_account = store(stream, set_slot(b"\1", b"a"))
    of_contract = store(stream, set_slot(b"\1", b"c"), owner={"contract_id": contract(CONTRACT)})
    store(stream, set_slot(b"\1", b"f"), result=FAILED)
    load(stream.block())

    assert stored("hook_storage", "owner_id, value") == [(CALLER, b"a"), (CONTRACT, b"c")]
    assert stored("transaction", "consensus_timestamp, entity_id, type", "result = 22") == [
        (of_account, CALLER, 75),
        (of_contract, CONTRACT, 75),
    ]


def transfer(stream: ContractStream) -> int:
    """Hooks of hbar, units and serials: 11 and 31 run before it, 12, 21 and 32 before and after."""
    body = {
        "transfers": {
            "accountAmounts": [
                {"accountID": account(1), "amount": -2, "pre_post_tx_allowance_hook": {"hook_id": 12}},
                {"accountID": account(2), "amount": 2, "pre_tx_allowance_hook": {"hook_id": 11}},
            ]
        },
        "tokenTransfers": [
            {
                "nftTransfers": [
                    {
                        "senderAccountID": account(3),
                        "receiverAccountID": account(4),
                        "pre_tx_sender_allowance_hook": {"hook_id": 31},
                        "pre_post_tx_receiver_allowance_hook": {"hook_id": 32},
                    }
                ],
                "transfers": [
                    {"accountID": account(5), "amount": 1, "pre_post_tx_allowance_hook": {"hook_id": 21}}
                ],
            }
        ],
    }
    return stream.happen("cryptoTransfer", body)


ORDER = [(2, 11), (3, 31), (1, 12), (5, 21), (4, 32), (1, 12), (5, 21), (4, 32)]  # owner, hook


@pytest.mark.checklist("HOK-10")
@pytest.mark.parametrize("per_child", [1, 2])
def test_storage_of_calls_belongs_to_the_hooks_in_the_order_of_their_calls(
    per_child: int, caplog: Any
) -> None:
    stream = ContractStream()
    parent = transfer(stream)
    for nonce in range(1, len(ORDER) + 1, per_child):
        written = [
            state(change(b"\1", b"", bytes((nonce + each,))), number=HOOKS) for each in range(per_child)
        ]
        stream.call(HOOKS, function_result(HOOKS), parent=parent, nonce=nonce, sidecars=written)
    load(stream.block())

    assert caplog.text == ""
    found = stored("hook_storage_change", "value_written, owner_id, hook_id")
    assert [(owner, hook) for _, owner, hook in found] == ORDER
    assert stored("contract_state", "slot") == stored("contract_state_change", "slot") == []


@pytest.mark.checklist("HOK-10")
def test_a_slot_that_a_hook_writes_twice_in_one_call_has_one_row() -> None:
    stream = ContractStream()
    parent = transfer(stream)
    written = [state(change(b"\1", bytes((each,)), bytes((each + 1,))), number=HOOKS) for each in range(1, 9)]
    at = stream.call(HOOKS, function_result(HOOKS), parent=parent, nonce=1, sidecars=written)
    load(stream.block())

    rows = stored("hook_storage_change", "owner_id, hook_id, consensus_timestamp, value_read, value_written")
    assert rows[0] == (1, 12, at, b"\3", b"\7")
    assert [row[:2] for row in rows] == sorted(set(ORDER))


@pytest.mark.checklist("HOK-13")
def test_the_result_of_a_hooks_execution_belongs_to_the_hook_system_contract() -> None:
    stream = ContractStream()
    parent = transfer(stream)
    at = stream.call(HOOKS, function_result(OTHER), parent=parent, nonce=1)
    load(stream.block())

    assert stored("contract_result", "consensus_timestamp, contract_id") == [(at, HOOKS)]


@pytest.mark.checklist("HOK-10")
@pytest.mark.parametrize("calls", [0, 9])
def test_storage_of_an_unknown_hook_is_a_recoverable_problem(calls: int, caplog: Any) -> None:
    stream = ContractStream()
    parent = transfer(stream) if calls else stream.crypto_transfer({CALLER: -1, 2: 1}).consensus_timestamp
    for nonce in range(1, max(calls, 1) + 1):
        sidecar = state(change(b"\1", b"", b"w"), number=HOOKS)
        stream.call(HOOKS, function_result(HOOKS), parent=parent, nonce=nonce, sidecars=[sidecar])
    load(stream.block())

    assert len(stored("hook_storage_change", "hook_id")) == max(calls - 1, 0)
    assert "calls no hook that the storage can belong to" in caplog.text


@pytest.mark.checklist("HOK-11", "HOK-07")
def test_a_read_does_not_change_the_storage_of_a_hook() -> None:
    stream = ContractStream()
    before = store(stream, set_slot(b"\1", b"a"), hook_id=11, owner={"account_id": account(2)})
    parent = transfer(stream)
    changes = state(change(b"\1", b"a"), change(b"\2", b"", b"\0\0w"), change(b"\3", b"b", b""), number=HOOKS)
    at = stream.call(HOOKS, function_result(HOOKS), parent=parent, nonce=1, sidecars=[changes])
    load(stream.block())

    assert stored("hook_storage_change", CHANGE, f"consensus_timestamp = {at}") == [
        (at, 2, 11, slot(1), b"a", None, False),
        (at, 2, 11, slot(2), b"", b"w", False),
        (at, 2, 11, slot(3), b"b", b"", True),
    ]
    assert stored("hook_storage", STORAGE) == [
        (2, 11, slot(1), b"a", False, before, before),
        (2, 11, slot(2), b"w", False, at, at),
        (2, 11, slot(3), b"", True, at, at),
    ]


def test_state_of_other_contracts_in_a_hook_call_is_contract_state() -> None:
    stream = ContractStream()
    parent = transfer(stream)
    stream.call(
        HOOKS,
        function_result(HOOKS),
        parent=parent,
        nonce=1,
        sidecars=[state(change(b"\1", b"", b"w"), number=OTHER)],
    )
    load(stream.block())

    assert stored("contract_state", "contract_id") == [(OTHER,)]
    assert stored("hook_storage", "hook_id") == []
