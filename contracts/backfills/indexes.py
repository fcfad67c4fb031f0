"""transaction_index of contract results and logs: their position in the block, as Ethereum tools count it.

Transfers that an older release has not logged are added before, as these count, too.

Older releases wrote the place of the transaction among all in the block, and then none for transactions that
failed their checks. The rules are those of `handlers.positions`.
"""

from contracts.backfills import transfers
from contracts.handlers.positions import CONTRACT_TYPES
from ledger.stream.record_item import HOOKS_NUM
from mirror.core import config
from mirror.core.db import statements
from mirror.core.db.schema.backfill import Backfill, KeyRange
from mirror.core.values.hapi.result_codes import WRONG_NONCE

# A transaction whose parent has a position through its own logs.
_HAS_LOGGED_PARENT = """exists (
                    select from contract_log p where p.consensus_timestamp = t.parent_consensus_timestamp
                        and t.parent_consensus_timestamp < t.consensus_timestamp)"""
# A transaction that no other has caused: its parent has no result or log, and it follows no call of a hook.
_IS_ROOT = f"""(
                t.parent_consensus_timestamp is null
                or t.parent_consensus_timestamp > t.consensus_timestamp
                or not {_HAS_LOGGED_PARENT} and not exists (
                    select from contract_result p where p.consensus_timestamp = t.parent_consensus_timestamp
                ) and not exists (
                    select from contract_result h
                    where h.contract_id = %(hooks)s and h.consensus_timestamp < t.consensus_timestamp
                        and h.consensus_timestamp > t.parent_consensus_timestamp
                ))"""

# Each such transaction takes the next position of its block; what it causes shares it. Indexes: the
# primary keys of contract_result, contract_log, transaction and record_file; contract_result__id_timestamp.
_RENUMBER = f"""
    with result as (
        select r.consensus_timestamp, coalesce(t.type = any(%(types)s), false) as of_contract,
            r.contract_id = %(hooks)s and not {_HAS_LOGGED_PARENT} or {_IS_ROOT} as is_root,
            r.transaction_result
        from contract_result r
        left join transaction t on t.consensus_timestamp = r.consensus_timestamp
            and t.consensus_timestamp > %(after)s and t.consensus_timestamp <= %(to)s
        where r.consensus_timestamp > %(after)s and r.consensus_timestamp <= %(to)s
    ), log as (
        select l.consensus_timestamp, {_IS_ROOT} as is_root
        from (
            select distinct consensus_timestamp from contract_log
            where consensus_timestamp > %(after)s and consensus_timestamp <= %(to)s
        ) l
        left join transaction t on t.consensus_timestamp = l.consensus_timestamp
            and t.consensus_timestamp > %(after)s and t.consensus_timestamp <= %(to)s
        where not coalesce(t.type = any(%(types)s), false)
    ), seen as (
        select consensus_timestamp, bool_or(is_root) as is_root from (
            select consensus_timestamp, is_root from result
            where (of_contract or not is_root) and transaction_result <> %(wrong_nonce)s
            union all
            select consensus_timestamp, is_root from log
            where is_root or not exists (
                select from result where result.consensus_timestamp = log.consensus_timestamp)
        ) both_kinds
        group by consensus_timestamp
    ), place as (
        select seen.consensus_timestamp,
            nullif(count(*) filter (where is_root) over (
                partition by block.consensus_end order by seen.consensus_timestamp), 0) - 1 as index
        from seen
        cross join lateral (
            select consensus_end from record_file
            where consensus_end >= seen.consensus_timestamp order by consensus_end limit 1
        ) block
    ), renumbered_result as (
        update contract_result r set transaction_index = place.index
        from result left join place using (consensus_timestamp)
        where r.consensus_timestamp = result.consensus_timestamp
            and r.transaction_index is distinct from place.index
        returning 1
    ), renumbered_log as (
        update contract_log l set transaction_index = place.index
        from (
            select distinct consensus_timestamp from contract_log
            where consensus_timestamp > %(after)s and consensus_timestamp <= %(to)s
        ) logged left join place using (consensus_timestamp)
        where l.consensus_timestamp = logged.consensus_timestamp
            and l.transaction_index is distinct from place.index
        returning 1
    )
    select (select count(*) from renumbered_result) + (select count(*) from renumbered_log)"""


def renumber(keys: KeyRange) -> int:
    types, hooks = list(CONTRACT_TYPES), config.own_id(HOOKS_NUM)
    values = keys._asdict() | {"types": types, "hooks": hooks, "wrong_nonce": WRONG_NONCE}
    return int(statements.value(_RENUMBER, values))


def add_and_renumber(keys: KeyRange) -> int:
    return transfers.add(keys) + renumber(keys)


POSITIONS = Backfill(
    name="block_positions",
    table="record_file",
    key="consensus_end",
    first="consensus_start",
    change=add_and_renumber,
)
# Until then children that are no calls have no position.
CHILDREN = Backfill(
    name="child_positions",
    table="record_file",
    key="consensus_end",
    first="consensus_start",
    change=renumber,
)
