"""Storage slots of hooks (HIP-1195): reads and writes, and the current values."""

from collections.abc import Iterator
from typing import Any

from contracts.models import HookStorage, HookStorageChange
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles, names_entity
from ledger.stream.record_item import RecordItem
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
    """Set storage of a hook, for its owner. Source: body.hook_store.

    Rows: hook_storage_change insert, hook_storage upsert.
    """
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
        """Add one read and write of a slot; `written` is None for a slot that was only read.

        A value loses its leading zeros, and an empty one frees the slot.
        """
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
    """Store the slots and entries of mappings that a transaction sets.

    Source: EvmHookStorageUpdate messages. They have no old value, so the new one counts as read too.
    """
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
