"""Transfers that did not happen, offsets of balance files, and the balances that follow from them."""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable

from ledger.handlers.transfer import CRYPTO_TRANSFER, SPURIOUS_TRANSFERS_BEFORE
from ledger.ingest.balances.start import OFFSET, OFFSET_FIRST, OFFSET_LAST
from mirror.core.db import statements
from mirror.core.values.timestamp import month_start

_SUCCESS = 22
_LISTED_OFFSET = -1
_BATCH_SIZE = 10_000

# Index: transaction__type_consensus_timestamp.
_FAILED = f"""
    select consensus_timestamp from transaction
    where type = {CRYPTO_TRANSFER} and result <> {_SUCCESS}
        and consensus_timestamp < {SPURIOUS_TRANSFERS_BEFORE}
    order by consensus_timestamp"""
# What goes to nodes and to 0.0.98 are fees. Index: crypto_transfer__consensus_timestamp.
_CREDITS = """
    update crypto_transfer set errata = 'DELETE'
    where consensus_timestamp = any(%s) and amount > 0 and errata is null
        and entity_id <> 98 and entity_id not between 3 and 27
    returning entity_id, consensus_timestamp, amount"""
_DEBITS = """
    update crypto_transfer c set errata = 'DELETE'
    from unnest(%s::bigint[], %s::bigint[]) credit (consensus_timestamp, amount)
    where c.consensus_timestamp = credit.consensus_timestamp and c.amount = -credit.amount
        and c.errata is null
    returning c.entity_id, c.consensus_timestamp, c.amount"""
_BALANCES = """
    update entity e set balance = e.balance + moved.amount,
        balance_timestamp = greatest(e.balance_timestamp, moved.latest)
    from unnest(%s::bigint[], %s::bigint[], %s::bigint[]) moved (id, amount, latest)
    where e.id = moved.id and e.balance is not null"""
# Of accounts that the missing transactions have made.
_CREATED = "select id from entity where id = any(%s) and type in ('ACCOUNT', 'CONTRACT')"
_TRANSFERS = """
    select entity_id, consensus_timestamp, amount from crypto_transfer
    where entity_id = any(%s) and errata is distinct from 'DELETE' order by entity_id, consensus_timestamp"""
_FIRST_BALANCES = """
    update entity e set balance = first.balance
    from unnest(%s::bigint[], %s::bigint[]) first (id, balance) where e.id = first.id"""
# Snapshots that were computed from transfers; those of the network's own files are right.
_SNAPSHOTS = """
    update account_balance b set balance = b.balance + (
        select sum(amount) from unnest(%s::bigint[], %s::bigint[], %s::bigint[]) moved (id, at, amount)
        where moved.id = b.account_id and moved.at <= b.consensus_timestamp)
    where b.account_id = any(%s) and b.consensus_timestamp >= %s
        and b.consensus_timestamp = any(%s)
        and exists (
            select from unnest(%s::bigint[], %s::bigint[]) moved (id, at)
            where moved.id = b.account_id and moved.at <= b.consensus_timestamp)"""
# Index: the primary key. Snapshots of months that are dropped are not made again.
_COMPUTED = """
    select consensus_timestamp from account_balance_file
    where synthetic and consensus_timestamp >= %s and consensus_timestamp >= coalesce(
        (select before from dropped_rows where table_name = 'account_balance'), 0)
    order by consensus_timestamp"""
_KNOWN_BALANCES = "select id from entity where id = any(%s) and balance is not null"
# Index: the primary key.
_LAST_ROW = """
    select consensus_timestamp, balance from account_balance
    where account_id = %s and consensus_timestamp >= %s and consensus_timestamp <= %s
    order by consensus_timestamp desc limit 1"""
_ROWS = """
    insert into account_balance (account_id, consensus_timestamp, balance)
    select id, at, balance from unnest(%s::bigint[], %s::bigint[], %s::bigint[]) rows (id, at, balance)
    on conflict do nothing"""
_OFFSETS = f"""
    update account_balance_file set time_offset = {OFFSET}
    where consensus_timestamp between {OFFSET_FIRST} and {OFFSET_LAST} and not synthetic
    returning consensus_timestamp"""
_LISTED_OFFSETS = f"""
    update account_balance_file set time_offset = {_LISTED_OFFSET}
    where consensus_timestamp = any(%s) and not synthetic
    returning consensus_timestamp"""

Transfers = list[tuple[int, int, int]]
# Account and time of a snapshot -> balance.
Rows = dict[tuple[int, int], int]


def mark_spurious() -> Transfers:
    """Mark transfers of failed transactions that did not happen; return what their accounts get back."""
    refunds: Transfers = []
    failed = statements.column(_FAILED)
    for start in range(0, len(failed), _BATCH_SIZE):
        credits_ = statements.rows(_CREDITS, [failed[start : start + _BATCH_SIZE]])
        if credits_:
            paid = [[time for _, time, _ in credits_], [amount for *_, amount in credits_]]
            debits = statements.rows(_DEBITS, paid)
            refunds += [(entity, time, -amount) for entity, time, amount in (*credits_, *debits)]
    return refunds


def repair_balances(transfers: Transfers, created: set[int]) -> None:
    """Add what has moved (account, time, amount) to balances and snapshots; `created` are new."""
    totals: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for entity, time, amount in transfers:
        total = totals[entity]
        total[0] += amount
        total[1] = max(total[1], time)
    stored = {entity: total for entity, total in totals.items() if entity not in created}
    if stored:
        sums, latest = ([total[index] for total in stored.values()] for index in (0, 1))
        statements.execute(_BALANCES, [list(stored), sums, latest])
    snapshots: list[int] = []
    if transfers:
        ids, times, amounts = (list(column) for column in zip(*transfers, strict=True))
        snapshots = statements.column(_COMPUTED, [min(times)])
    if snapshots:
        values = [ids, times, amounts, sorted(set(ids)), min(times), snapshots, ids, times]
        statements.execute(_SNAPSHOTS, values)
    rows = _stored_rows(transfers, stored, snapshots) | _write_created(created, snapshots)
    if rows:
        columns = zip(*((*key, balance) for key, balance in sorted(rows.items())), strict=True)
        statements.execute(_ROWS, [list(column) for column in columns])


def _stored_rows(transfers: Transfers, stored: Iterable[int], snapshots: list[int]) -> Rows:
    """Return the rows that snapshots lack.

    The first of a month has all accounts, later ones those that have changed: an account that only missing
    transactions have moved is not in the next one.
    """
    rows: Rows = {}
    by_account: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for account, time, amount in transfers:
        by_account[account].append((time, amount))
    for account in statements.column(_KNOWN_BALANCES, [list(stored)]):
        indexes = {bisect_left(snapshots, time) for time, _ in by_account[account]}
        for index in sorted(indexes - {len(snapshots)}):
            snapshot = snapshots[index]
            last = statements.row(_LAST_ROW, [account, month_start(snapshot), snapshot])
            row_time, balance = last or (0, 0)
            if row_time < snapshot:
                rows[account, snapshot] = balance + sum(
                    amount for time, amount in by_account[account] if row_time < time <= snapshot
                )
    return rows


def _write_created(created: set[int], snapshots: list[int]) -> Rows:
    """Write the balances of accounts that were not stored, and return their rows in snapshots."""
    rows: Rows = {}
    balances: dict[int, int] = dict.fromkeys(statements.column(_CREATED, [sorted(created)]), 0)
    transfers: dict[int, list[int]] = defaultdict(list)
    for account, time, amount in statements.rows(_TRANSFERS, [list(balances)]):
        balances[account] += amount
        index = bisect_left(snapshots, time)
        transfers[account].append(index)
        if index < len(snapshots):
            rows[account, snapshots[index]] = balances[account]
    if balances:
        statements.execute(_FIRST_BALANCES, [list(balances), list(balances.values())])
    months = {month_start(time): index for index, time in reversed(list(enumerate(snapshots)))}.values()
    for account, indexes in transfers.items():
        balance = 0
        for index in sorted({*indexes, *(each for each in months if each >= indexes[0])} - {len(snapshots)}):
            balance = rows.setdefault((account, snapshots[index]), balance)
    return rows


def set_offsets(late_files: set[int]) -> list[int]:
    """Set the offsets of the network's balance files; return the times of those that have one."""
    times = statements.column(_OFFSETS)
    return [*times, *statements.column(_LISTED_OFFSETS, [sorted(late_files)])] if late_files else times
