"""Calls of hooks during a transfer (HIP-1195), and the storage they change.

A transfer names the hooks to call. Each call is a child transaction to the hook system contract. Its state
sidecar lists the storage it touched but not the hook. The network calls hooks in a fixed order, so the n-th
state change belongs to the n-th call.
"""

from collections.abc import Iterator
from typing import Any, NamedTuple

from contracts.handlers.hooks.storage import StorageChanges
from ledger.ingest.batch import Batch
from ledger.stream.record.item import RecordItem
from mirror.values.transaction_types import NUMBERS

_CRYPTO_TRANSFER = NUMBERS["CRYPTOTRANSFER"]

# The oneof members of an AccountAmount, and of the two sides of an NftTransfer.
_ACCOUNT = ("pre_tx_allowance_hook", "pre_post_tx_allowance_hook")
_SENDER = ("pre_tx_sender_allowance_hook", "pre_post_tx_sender_allowance_hook")
_RECEIVER = ("pre_tx_receiver_allowance_hook", "pre_post_tx_receiver_allowance_hook")


class HookCall(NamedTuple):
    """A call of a hook, with the AccountID of its owner."""

    hook_id: int
    owner: Any


class HookCalls(dict[int, Iterator[HookCall]]):
    """The next calls of each transfer in a file, by the transfer's consensus timestamp."""


def add_storage(
    item: RecordItem, batch: Batch, changes: Any, of_hooks: dict[tuple[int, int], StorageChanges]
) -> None:
    """Add the slots one call read and wrote to those of its hook: `of_hooks` is by owner and hook id."""
    call = _next_call(item, batch)
    owner = batch.lookup.account(call.owner) if call else 0
    if call is None or not owner:
        batch.recoverable(item, "its transfer calls no hook that the storage can belong to")
        return
    hook = owner, call.hook_id
    storage = of_hooks.setdefault(hook, StorageChanges(item, batch, *hook))
    for change in changes:
        written = change.value_written.value if change.HasField("value_written") else None
        storage.add(change.slot, change.value_read, written)


def _next_call(item: RecordItem, batch: Batch) -> HookCall | None:
    transfer = item.parent
    if transfer is None or transfer.transaction_type != _CRYPTO_TRANSFER:
        return None
    hook_calls = batch.state(HookCalls)
    calls = hook_calls.get(transfer.consensus_timestamp)
    if calls is None:
        calls = hook_calls[transfer.consensus_timestamp] = _calls(transfer.body.cryptoTransfer)
    return next(calls, None)


def _calls(body: Any) -> Iterator[HookCall]:
    """Return the calls of a transfer in the network's order.

    Hooks that run only before the transfer come first, then the first calls of hooks that run before and
    after it, then their second calls.
    """
    before = [HookCall(call.hook_id, owner) for twice, call, owner in _requested(body) if not twice]
    around = [HookCall(call.hook_id, owner) for twice, call, owner in _requested(body) if twice]
    return iter(before + around + around)


def _requested(body: Any) -> Iterator[tuple[bool, Any, Any]]:
    """Yield whether a hook runs twice, its HookCall message and its owner, in the order of the body.

    Hbar comes first; of each token units come before serials, and senders before receivers.
    """
    for transfer in body.transfers.accountAmounts:
        yield from _requested_of(transfer, _ACCOUNT, transfer.accountID)
    for token in body.tokenTransfers:
        for transfer in token.transfers:
            yield from _requested_of(transfer, _ACCOUNT, transfer.accountID)
        for transfer in token.nftTransfers:
            yield from _requested_of(transfer, _SENDER, transfer.senderAccountID)
            yield from _requested_of(transfer, _RECEIVER, transfer.receiverAccountID)


def _requested_of(transfer: Any, members: tuple[str, str], owner: Any) -> Iterator[tuple[bool, Any, Any]]:
    for twice, member in enumerate(members):
        if transfer.HasField(member):
            yield bool(twice), getattr(transfer, member), owner
