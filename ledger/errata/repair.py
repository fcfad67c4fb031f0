"""Transfers that did not happen, offsets of balance files, and the balances that follow from them."""

from bisect import bisect_left
from collections import defaultdict

from django.db.backends.utils import CursorWrapper

from ledger.handlers.transfer import CRYPTO_TRANSFER, SPURIOUS_TRANSFERS_BEFORE
from mirror.values.timestamp import month_start

_SUCCESS = 22
# Late by 53 ns are the balance files of these times.
_OFFSET, _OFFSET_FROM, _OFFSET_TO = 53, 1_658_420_100_626_004_000, 1_666_368_000_880_378_770
_LISTED_OFFSET = -1
_AT_ONCE = 10_000

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
_FIRST_BALANCES = """
    update entity e set balance = (
        select coalesce(sum(amount), 0) from crypto_transfer c
        where c.entity_id = e.id and c.errata is distinct from 'DELETE')
    where e.id = any(%s) and e.type in ('ACCOUNT', 'CONTRACT')"""
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
# The first of a month has all accounts, later ones those that have changed: an account that only a missing
# transaction has moved lacks its row. Index: the primary key of account_balance.
_MISSING_ROWS = """
    insert into account_balance (account_id, consensus_timestamp, balance)
    select changed.id, changed.at, coalesce(before.balance, 0) + (
        select coalesce(sum(amount), 0)
        from unnest(%s::bigint[], %s::bigint[], %s::bigint[]) moved (id, at, amount)
        where moved.id = changed.id and moved.at <= changed.at
            and moved.at > coalesce(before.consensus_timestamp, 0))
    from unnest(%s::bigint[], %s::bigint[], %s::bigint[]) changed (id, at, month)
    join entity e on e.id = changed.id and e.balance is not null
    left join lateral (
        select b.consensus_timestamp, b.balance from account_balance b
        where b.account_id = changed.id and b.consensus_timestamp >= changed.month
            and b.consensus_timestamp < changed.at
        order by b.consensus_timestamp desc limit 1
    ) before on true
    on conflict do nothing"""
# Accounts that the missing transactions have made are in no snapshot: the first one after each transfer gets
# them, and the first one of each month. Indexes: of crypto_transfer by entity, and the primary key of
# account_balance_file.
_ROWS_OF_MADE = """
    with passed as materialized (
        select c.entity_id, c.consensus_timestamp,
            sum(c.amount) over (partition by c.entity_id order by c.consensus_timestamp) as balance
        from crypto_transfer c join entity e on e.id = c.entity_id and e.type in ('ACCOUNT', 'CONTRACT')
        where c.entity_id = any(%s) and c.errata is distinct from 'DELETE'
    ), at_snapshots as (
        select passed.*, (
            select f.consensus_timestamp from account_balance_file f
            where f.synthetic and f.consensus_timestamp >= greatest(passed.consensus_timestamp, %s)
            order by f.consensus_timestamp limit 1) as at
        from passed
        union all
        select passed.*, first.at
        from passed join unnest(%s::bigint[]) first (at) on passed.consensus_timestamp <= first.at
    )
    insert into account_balance (account_id, consensus_timestamp, balance)
    select distinct on (entity_id, at) entity_id, at, balance from at_snapshots
    where at is not null order by entity_id, at, consensus_timestamp desc
    on conflict do nothing"""
_OFFSETS = f"""
    update account_balance_file set time_offset = {_OFFSET}
    where consensus_timestamp between {_OFFSET_FROM} and {_OFFSET_TO} and not synthetic
    returning consensus_timestamp"""
_LISTED_OFFSETS = f"""
    update account_balance_file set time_offset = {_LISTED_OFFSET}
    where consensus_timestamp = any(%s) and not synthetic
    returning consensus_timestamp"""

Moved = list[tuple[int, int, int]]


def mark_spurious(cursor: CursorWrapper) -> Moved:
    """Mark transfers of failed transactions that did not happen; return what their accounts get back.

    Loading has marked those that their transaction's body requested.
    """
    cursor.execute(_FAILED)
    back: Moved = []
    failed = [at for (at,) in cursor.fetchall()]
    for start in range(0, len(failed), _AT_ONCE):
        cursor.execute(_CREDITS, [failed[start : start + _AT_ONCE]])
        credits_: list[tuple[int, int, int]] = cursor.fetchall()
        if credits_:
            cursor.execute(_DEBITS, [[at for _, at, _ in credits_], [amount for *_, amount in credits_]])
            back += [(entity, at, -amount) for entity, at, amount in (*credits_, *cursor.fetchall())]
    return back


def repair_balances(cursor: CursorWrapper, moved: Moved, made: set[int]) -> None:
    """Add what has moved (account, time, amount) to balances, and to the snapshots computed from them.

    `made` are the entities that were not stored before.
    """
    if made:
        cursor.execute(_FIRST_BALANCES, [sorted(made)])
    totals: dict[int, list[int]] = defaultdict(lambda: [0, 0])
    for entity, at, amount in moved:
        total = totals[entity]
        total[0] += amount
        total[1] = max(total[1], at)
    stored = {entity: total for entity, total in totals.items() if entity not in made}
    if stored:
        sums, latest = ([total[place] for total in stored.values()] for place in (0, 1))
        cursor.execute(_BALANCES, [list(stored), sums, latest])
    if not moved:
        return
    ids, times, amounts = (list(column) for column in zip(*moved, strict=True))
    cursor.execute(_COMPUTED, [min(times)])
    snapshots = [at for (at,) in cursor.fetchall()]
    if not snapshots:
        return
    cursor.execute(_SNAPSHOTS, [ids, times, amounts, sorted(set(ids)), min(times), snapshots, ids, times])
    changed = {
        (entity, snapshots[place])
        for entity, at, _ in moved
        if entity not in made and (place := bisect_left(snapshots, at)) < len(snapshots)
    }
    if changed:
        changed_ids, changed_at = (list(column) for column in zip(*sorted(changed), strict=True))
        months = [month_start(at) for at in changed_at]
        cursor.execute(_MISSING_ROWS, [ids, times, amounts, changed_ids, changed_at, months])
    if made:
        firsts = {month_start(at): at for at in reversed(snapshots)}
        cursor.execute(_ROWS_OF_MADE, [sorted(made), snapshots[0], sorted(firsts.values())])


def set_offsets(cursor: CursorWrapper, late: set[int]) -> list[int]:
    """Set the offsets of the network's balance files; return the times of those that have one."""
    cursor.execute(_OFFSETS)
    found = [at for (at,) in cursor.fetchall()]
    if late:
        cursor.execute(_LISTED_OFFSETS, [sorted(late)])
        found += [at for (at,) in cursor.fetchall()]
    return found
