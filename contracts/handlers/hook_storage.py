"""Storage slots of hooks: what was read and written, and the values now."""

from collections.abc import Iterator
from typing import Any

from contracts.models import HookStorage, HookStorageChange
from ledger.ingest.batch import Batch
from ledger.stream.record.item import RecordItem
from mirror.values.hashes import keccak256

KEY_LENGTH = 32


class StorageChanges:
    """Changes of one hook's storage by one item; of one slot's the first read and the last write count."""

    def __init__(self, item: RecordItem, batch: Batch, owner: int, hook_id: int) -> None:
        self._item, self._rows = item, batch
        self._owner, self._hook_id = owner, hook_id
        self._changes: dict[bytes, tuple[bytes, bytes | None]] = {}

    def add(self, key: bytes, read: bytes, written: bytes | None) -> None:
        """`written` is None for a slot that was only read. It loses leading zeros; no bytes free the slot."""
        key = key.rjust(KEY_LENGTH, b"\0")
        first_read, last_written = self._changes.get(key, (read, None))
        self._changes[key] = first_read, last_written if written is None else written.lstrip(b"\0")

    def write(self) -> None:
        """Rows: hook_storage_change insert; hook_storage upsert of what was written."""
        at = self._item.consensus_timestamp
        for key, (read, written) in self._changes.items():
            slot: dict[str, Any] = {"owner_id": self._owner, "hook_id": self._hook_id, "key": key}
            self._rows.insert(
                HookStorageChange,
                **slot,
                consensus_timestamp=at,
                deleted=written == b"",
                value_read=read,
                value_written=written,
            )
            if written is not None:
                self._rows.upsert(
                    HookStorage,
                    **slot,
                    created_timestamp=at,
                    deleted=not written,
                    modified_timestamp=at,
                    value=written,
                )


def add_updates(item: RecordItem, batch: Batch, owner: int, hook_id: int, updates: Any) -> None:
    """Storage that a transaction sets outright: slots, or entries of a mapping.

    Source: EvmHookStorageUpdate messages. What was there before is not known: the value counts as read, too.
    """
    slots: dict[bytes, bytes] = {}
    for update in updates:
        slots.update(_slots(item, batch, update))
    changes = StorageChanges(item, batch, owner, hook_id)
    for key, value in slots.items():
        changes.add(key, value.lstrip(b"\0"), value)
    changes.write()


def _slots(item: RecordItem, batch: Batch, update: Any) -> Iterator[tuple[bytes, bytes]]:
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
            # Where Solidity keeps the value of a mapping's key.
            yield keccak256(key + slot), entry.value
    else:
        batch.recoverable(item, "an update of hook storage is neither a slot nor a mapping's entries")
