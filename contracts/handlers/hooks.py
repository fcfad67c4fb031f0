"""Hooks (HIP-1195): their creation and deletion, calls of them during a transfer, and their storage."""

from collections.abc import Iterator
from typing import Any

from contracts.models import Hook, HookStorage, HookStorageChange
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles, names_entity
from ledger.stream.record_item import HookCall, RecordItem, calls_of
from mirror.core.values.hapi.transaction_types import NUMBERS
from mirror.core.values.hashes import keccak256

KEY_LENGTH = 32


@names_entity("HOOKSTORE")
def hook_owner(item: RecordItem, batch: Batch) -> int:
    owner = item.body.hook_store.hook_id.entity_id
    if owner.HasField("account_id"):
        return batch.lookup.account(owner.account_id)
    return batch.lookup.contract(owner.contract_id)


@handles("HOOKSTORE")
def hook_store(item: RecordItem, batch: Batch) -> None:
    """Set storage of a hook. Source: body.hook_store. Rows: hook_storage_change, hook_storage."""
    body = item.body.hook_store
    if item.entity_id:
        add_updates(item, batch, item.entity_id, body.hook_id.hook_id, body.storage_updates)
    else:
        batch.recoverable(item, f"the owner of hook {body.hook_id.hook_id} is not known")


class StorageChanges:
    """Changes of one hook's storage by one item; of each slot the first read and the last write count."""

    def __init__(self, item: RecordItem, batch: Batch, owner: int, hook_id: int) -> None:
        self._item, self._batch = item, batch
        self._owner, self._hook_id = owner, hook_id
        self._changes: dict[bytes, tuple[bytes, bytes | None]] = {}

    def add(self, key: bytes, read: bytes, written: bytes | None) -> None:
        """Add one read and write of a slot; `written` is None for a read, and empty if it frees the slot."""
        key = key.rjust(KEY_LENGTH, b"\0")
        first_read, last_written = self._changes.get(key, (read, None))
        self._changes[key] = first_read, last_written if written is None else written.lstrip(b"\0")

    def write(self) -> None:
        """Store the changes. Rows: hook_storage_change insert; hook_storage upsert of written slots."""
        timestamp = self._item.consensus_timestamp
        for key, (read, written) in self._changes.items():
            slot: dict[str, Any] = {"owner_id": self._owner, "hook_id": self._hook_id, "key": key}
            self._batch.insert(
                HookStorageChange,
                **slot,
                consensus_timestamp=timestamp,
                deleted=written == b"",
                value_read=read,
                value_written=written,
            )
            if written is not None:
                self._batch.upsert(
                    HookStorage,
                    **slot,
                    created_timestamp=timestamp,
                    deleted=not written,
                    modified_timestamp=timestamp,
                    value=written,
                )


def add_updates(item: RecordItem, batch: Batch, owner: int, hook_id: int, updates: Any) -> None:
    """Store the slots and entries that EvmHookStorageUpdate messages set; the new value counts as read."""
    slots: dict[bytes, bytes] = {}
    for update in updates:
        slots.update(_slots(item, batch, update))
    changes = StorageChanges(item, batch, owner, hook_id)
    for key, value in slots.items():
        changes.add(key, value.lstrip(b"\0"), value)
    changes.write()


def _slots(item: RecordItem, batch: Batch, update: Any) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and value of each slot that an update sets."""
    kind = update.WhichOneof("update")
    if kind == "storage_slot":
        yield update.storage_slot.key.rjust(KEY_LENGTH, b"\0"), update.storage_slot.value
    elif kind == "mapping_entries":
        slot = update.mapping_entries.mapping_slot.rjust(KEY_LENGTH, b"\0")
        for entry in update.mapping_entries.entries:
            if entry.WhichOneof("entry_key") == "preimage":
                key = keccak256(entry.preimage)
            else:
                key = entry.key.rjust(KEY_LENGTH, b"\0")
            # Where Solidity stores the value of a mapping's key.
            yield keccak256(key + slot), entry.value
    else:
        batch.recoverable(item, "an update of hook storage is neither a slot nor a mapping's entries")


_CRYPTO_TRANSFER = NUMBERS["CRYPTOTRANSFER"]


# Each call that a transfer names is a child transaction to the hook system contract. Its state sidecar lists
# the storage it used but not the hook, unless it is of a block. The network calls hooks in a fixed order, so
# the n-th state change belongs to the n-th call.


class HookCalls(dict[int, Iterator[HookCall]]):
    """The next calls of each transfer in a file, by the transfer's consensus timestamp."""


def add_storage(
    item: RecordItem, batch: Batch, changes: Any, of_hooks: dict[tuple[int, int], StorageChanges]
) -> None:
    """Add the slots one call read and wrote to those of its hook: `of_hooks` is by owner and hook id."""
    call = _next_call(item, batch)
    hook = item.executed_hook or (_hook_of(call, batch) if call else None)
    if hook is None:
        batch.recoverable(item, "its transfer calls no hook that the storage can belong to")
        return
    storage = of_hooks.setdefault(hook, StorageChanges(item, batch, *hook))
    for change in changes:
        written = change.value_written.value if change.HasField("value_written") else None
        storage.add(change.slot, change.value_read, written)


def _hook_of(call: HookCall, batch: Batch) -> tuple[int, int] | None:
    """Return owner and number of a called hook, None if the owner is unknown."""
    owner = batch.lookup.account(call.owner)
    return (owner, call.hook_id) if owner else None


def _next_call(item: RecordItem, batch: Batch) -> HookCall | None:
    transfer = item.parent
    if transfer is None or transfer.transaction_type != _CRYPTO_TRANSFER:
        return None
    hook_calls = batch.state(HookCalls)
    calls = hook_calls.get(transfer.consensus_timestamp)
    if calls is None:
        calls = hook_calls[transfer.consensus_timestamp] = calls_of(transfer.body.cryptoTransfer)
    return next(calls, None)


@handles("CRYPTOUPDATEACCOUNT", "CONTRACTUPDATEINSTANCE")
def hooks_deleted(item: RecordItem, batch: Batch) -> None:
    """Delete hooks of an account or contract. Source: body.hook_ids_to_delete. Rows: hook version."""
    if not item.entity_id:
        return
    for hook_id in _body(item).hook_ids_to_delete:
        batch.upsert(
            Hook, since=item.consensus_timestamp, owner_id=item.entity_id, hook_id=hook_id, deleted=True
        )


@handles("CRYPTOCREATEACCOUNT", "CRYPTOUPDATEACCOUNT", "CONTRACTCREATEINSTANCE", "CONTRACTUPDATEINSTANCE")
def hooks_created(item: RecordItem, batch: Batch) -> None:
    """Create hooks of an account or contract. Source: body.hook_creation_details.

    Rows: hook version; hook_storage_change insert and hook_storage upsert of the initial storage.
    """
    if not item.entity_id:
        return
    for details in _body(item).hook_creation_details:
        _create(item, batch, details)


def _body(item: RecordItem) -> Any:
    """Return the body of the transaction's type."""
    return getattr(item.body, item.body.WhichOneof("data"))


def _create(item: RecordItem, batch: Batch, details: Any) -> None:
    # BODY
    if details.WhichOneof("hook") is None or not details.evm_hook.spec.HasField("contract_id"):
        batch.recoverable(item, f"hook {details.hook_id} is created without the contract it runs")
        return
    timestamp = item.consensus_timestamp
    contract = batch.lookup.contract(details.evm_hook.spec.contract_id)
    # ROWS
    batch.mention(contract)
    batch.upsert(
        Hook,
        since=timestamp,
        owner_id=item.entity_id,
        hook_id=details.hook_id,
        admin_key=details.admin_key.SerializeToString() if details.HasField("admin_key") else None,
        contract_id=contract or None,
        created_timestamp=timestamp,
        deleted=False,
        extension_point="ACCOUNT_ALLOWANCE_HOOK",
        type="EVM",
    )
    add_updates(item, batch, item.entity_id, details.hook_id, details.evm_hook.storage_updates)
