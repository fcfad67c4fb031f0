"""Composed transactions with their children, which a network commits together."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ledger.stream.record.hook_calls import HookCall, calls_of
from ledger.stream.record.item import HOOKS_NUM
from mirror.core.values import timestamp
from mirror.demo.streams.record_files import ComposedTransaction


@dataclass(frozen=True, slots=True)
class AnnouncedTransaction:
    """A transaction in a block, with the hook that it calls.

    `explicit`: its trace lists the slots that it wrote, as later transactions of its parent may write them,
    too.
    """

    transaction: ComposedTransaction
    hook: HookCall | None = None
    explicit: bool = False


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
        # The contract of all hooks.
        calls_hook = transaction.body.contractCall.contractID.contractNum == HOOKS_NUM
        hook = next(hooks, None) if parent in parents and calls_hook else None
        explicit = hook is not None or any(each.body.HasField("atomic_batch") for each in parents.values())
        group.append(AnnouncedTransaction(transaction, hook, explicit))
        parents[transaction.consensus_timestamp] = transaction
    if group:
        yield group


def _parent_time(record: Any) -> int | None:
    if not record.HasField("parent_consensus_timestamp"):
        return None
    return timestamp.of(record.parent_consensus_timestamp)
