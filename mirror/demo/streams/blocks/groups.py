"""Composed transactions with their children, which a network commits together."""

from collections.abc import Iterable, Iterator
from typing import Any

from ledger.stream.record.hook_calls import HookCall, calls_of
from ledger.stream.record.item import HOOKS_NUM
from mirror.core.values import timestamp
from mirror.demo.streams.blocks.changes import AnnouncedTransaction
from mirror.demo.streams.record_files import ComposedTransaction


def groups(transactions: Iterable[ComposedTransaction]) -> Iterator[list[AnnouncedTransaction]]:
    """Yield each top level transaction, and its children and theirs, in their order."""
    group: list[AnnouncedTransaction] = []
    parents: dict[int, ComposedTransaction] = {}
    hooks: Iterator[HookCall] = iter(())
    for transaction in transactions:
        parent = _parent_time(transaction.record)
        if parent not in parents:
            if group:
                yield group
            group, parents = [], {}
        if transaction.body.HasField("cryptoTransfer"):
            hooks = calls_of(transaction.body.cryptoTransfer)
        hook = next(hooks, None) if parent in parents and _calls_hook(transaction) else None
        explicit = hook is not None or any(each.body.HasField("atomic_batch") for each in parents.values())
        group.append(AnnouncedTransaction(transaction, hook, explicit))
        parents[transaction.consensus_timestamp] = transaction
    if group:
        yield group


def _parent_time(record: Any) -> int | None:
    if not record.HasField("parent_consensus_timestamp"):
        return None
    return timestamp.of(record.parent_consensus_timestamp)


def _calls_hook(transaction: ComposedTransaction) -> bool:
    """Return whether a child calls the contract of all hooks."""
    called: int = transaction.body.contractCall.contractID.contractNum
    return called == HOOKS_NUM
