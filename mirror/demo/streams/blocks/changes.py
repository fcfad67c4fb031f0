"""The changes of the state by composed transactions, as far as a reader of blocks needs them.

A network commits a transaction with all of its children, and tells each changed key once, with its last
value.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ledger.stream.block.records.state_ids import (
    BYTECODE,
    FILES,
    HOOK_STORAGE,
    NODES,
    PENDING_AIRDROPS,
    REGISTERED_NODES,
    STORAGE,
    TOKENS,
    TOPICS,
)
from ledger.stream.record.hook_calls import HookCall
from ledger.stream.record.item import HOOKS_NUM
from mirror.core.values import entity_id
from mirror.core.values.hapi import result_codes
from mirror.core.values.hapi.messages import StateChange
from mirror.demo.streams.blocks.accounts import KnownAccounts
from mirror.demo.streams.record_files import ComposedTransaction, account


@dataclass(frozen=True, slots=True)
class AnnouncedTransaction:
    """A transaction that is told of in a block, with the hook that it calls.

    `explicit` says that its trace lists the slots it wrote, as later transactions of its parent may write
    them, too.
    """

    transaction: ComposedTransaction
    hook: HookCall | None = None
    explicit: bool = False


def of(group: Sequence[AnnouncedTransaction], known: KnownAccounts) -> list[Any]:
    """Return the StateChange messages of a transaction and its children."""
    changed: dict[tuple[int, bytes], Any] = {}
    for change in known.changes(told.transaction for told in group):
        _set(changed, change)
    for told in group:
        if told.transaction.record.receipt.status not in result_codes.SUCCESS:
            continue
        for change in _changes(told):
            _set(changed, change)
    return list(changed.values())


def _set(changed: dict[tuple[int, bytes], Any], change: Any) -> None:
    """Add a change in its place, or in that of an earlier change of the same key."""
    kind = change.WhichOneof("change_operation")
    changed[change.state_id, getattr(change, kind).key.SerializeToString(deterministic=True)] = change


def _changes(told: AnnouncedTransaction) -> Iterator[Any]:
    yield from _created(told.transaction)
    yield from _totals(told.transaction)
    yield from _contracts(told)


def _updated(state: int, key: Mapping[str, Any], value: Mapping[str, Any], *, identical: bool = False) -> Any:
    return StateChange(state_id=state, map_update={"key": key, "value": value, "identical": identical})


def _deleted(state: int, key: Mapping[str, Any]) -> Any:
    return StateChange(state_id=state, map_delete={"key": key})


def _created(transaction: ComposedTransaction) -> Iterator[Any]:
    """Yield the changes that tell the ids of new entities, and those of existing ones."""
    body, receipt = transaction.body, transaction.record.receipt
    kind = body.WhichOneof("data")
    if kind in ("fileCreate", "fileAppend", "fileUpdate"):
        file = receipt.fileID if kind == "fileCreate" else getattr(body, kind).fileID
        yield _updated(FILES, {"file_id_key": file}, {"file_value": {"file_id": file}})
    elif kind in ("nodeCreate", "nodeUpdate"):
        number = receipt.node_id if kind == "nodeCreate" else body.nodeUpdate.node_id
        key = {"entity_number_key": {"value": number}}
        yield _updated(NODES, key, {"node_value": {"node_id": number}})
    elif kind in ("registeredNodeCreate", "registeredNodeUpdate"):
        created = kind == "registeredNodeCreate"
        number = (receipt if created else body.registeredNodeUpdate).registered_node_id
        key = {"entity_number_key": {"value": number}}
        yield _updated(REGISTERED_NODES, key, {"registered_node_value": {"registered_node_id": number}})


def _totals(transaction: ComposedTransaction) -> Iterator[Any]:
    body, record = transaction.body, transaction.record
    receipt, kind = record.receipt, body.WhichOneof("data")
    if kind == "tokenCreation":
        yield _token_changed(receipt.tokenID, body.tokenCreation.initialSupply)
    elif kind in ("tokenMint", "tokenBurn", "tokenWipe"):
        yield _token_changed(getattr(body, kind).token, receipt.newTotalSupply)
    elif kind == "consensusCreateTopic":
        yield _topic_changed(receipt.topicID, 0, b"")
    elif kind == "consensusSubmitMessage":
        topic = body.consensusSubmitMessage.topicID
        yield _topic_changed(topic, receipt.topicSequenceNumber, receipt.topicRunningHash)
    elif kind in ("tokenClaimAirdrop", "tokenCancelAirdrop"):
        for airdrop in getattr(body, kind).pending_airdrops:
            yield _deleted(PENDING_AIRDROPS, {"pending_airdrop_id_key": airdrop})
    for pending in record.new_pending_airdrops:
        yield _updated(
            PENDING_AIRDROPS,
            {"pending_airdrop_id_key": pending.pending_airdrop_id},
            {"account_pending_airdrop_value": {"pending_airdrop_value": pending.pending_airdrop_value}},
        )


def _token_changed(token: Any, total: int) -> Any:
    value = {"token_value": {"token_id": token, "total_supply": total}}
    return _updated(TOKENS, {"token_id_key": token}, value)


def _topic_changed(topic: Any, sequence_number: int, running_hash: bytes) -> Any:
    value = {"topic_id": topic, "sequence_number": sequence_number, "running_hash": running_hash}
    return _updated(TOPICS, {"topic_id_key": topic}, {"topic_value": value})


def _contracts(told: AnnouncedTransaction) -> Iterator[Any]:
    for sidecar in told.transaction.sidecars:
        kind = sidecar.WhichOneof("sidecar_records")
        if kind == "bytecode" and sidecar.bytecode.runtime_bytecode:
            code = {"bytecode_value": {"code": sidecar.bytecode.runtime_bytecode}}
            yield _updated(BYTECODE, {"contract_id_key": sidecar.bytecode.contract_id}, code)
        elif kind == "state_changes":
            for touched in sidecar.state_changes.contract_state_changes:
                yield from _stored(touched, told)


def is_identical(change: Any) -> bool:
    """Return whether a StorageChange writes the value that it read; to delete an empty slot is a change."""
    return bool(change.value_read) and change.value_written.value == change.value_read


def _stored(touched: Any, told: AnnouncedTransaction) -> Iterator[Any]:
    """Yield the changes of storage; that of a hook is its own, though all hooks run as one contract."""
    hook = told.hook
    of_hook = hook is not None and touched.contract_id.contractNum == HOOKS_NUM
    state = HOOK_STORAGE if of_hook else STORAGE
    for change in touched.storage_changes:
        if not change.HasField("value_written"):
            continue
        key: Mapping[str, Any] = {"slot_key_key": {"contractID": touched.contract_id, "key": change.slot}}
        if hook is not None and of_hook:
            key = {"evm_hook_slot_key": {"hook_id": hook_id(hook), "key": change.slot}}
        written = change.value_written.value
        if written:
            value = {"slot_value_value": {"value": written}}
            yield _updated(state, key, value, identical=not told.explicit and is_identical(change))
        else:
            yield _deleted(state, key)


def hook_id(hook: HookCall) -> dict[str, Any]:
    """Return the HookId of a called hook, as plain values."""
    owner = account(entity_id.of_account(hook.owner))
    return {"entity_id": {"account_id": owner}, "hook_id": hook.hook_id}
