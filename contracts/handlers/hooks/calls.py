"""Calls of hooks during a transfer (HIP-1195), and the storage they change.

A transfer names the hooks to call. Each call is a child transaction to the hook system contract. Its state
sidecar lists the storage it used but not the hook. The network calls hooks in a fixed order, so the n-th
state change belongs to the n-th call. Blocks name the hook of each call.
"""

from collections.abc import Iterator
from typing import Any

from contracts.handlers.hooks.storage import StorageChanges
from ledger.ingest.rows.batch import Batch
from ledger.stream.record_item import HookCall, RecordItem, calls_of
from mirror.core.values.hapi.transaction_types import NUMBERS

_CRYPTO_TRANSFER = NUMBERS["CRYPTOTRANSFER"]


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
