"""Pending rewards of stakers who have not been rewarded for a year, and of those whose node is gone.

An account keeps the rewards of its last 365 periods. Older releases valued those it lost by its last stake.
"""

from functools import partial

from ledger.ingest.rows.persist import Persist
from mirror.core.db import statements
from mirror.core.db.schema.backfill import Backfill, KeyRange, execute_range

# The computation of a period may be about to replace these rows. Rows that an earlier statement has locked
# are read as they are after that. Without waiting for locks there is no deadlock with a loader.
_LOCK = """
    select from entity_stake s
    where s.id > %(after)s and s.id <= %(to)s and exists (
        select from entity e where e.id = s.id
            and e.stake_period_start >= 0 and e.stake_period_start < %(last)s - 365)
    for update of s nowait"""

# The stake of a period is that of the version that was valid until its end. Indexes: the primary keys of
# entity and entity_stake, node_stake__epoch_day, entity_stake_history__id_lower_timestamp.
_LONG_STAKES = """
    with earned as (
        select s.id, coalesce(sum(
            coalesce(past.stake_total_start, s.stake_total_start) / 100000000 * n.reward_rate
        ), 0)::bigint as reward
        from entity_stake s
        join entity e on e.id = s.id
        left join node_stake n on n.node_id = s.staked_node_id_start
            and n.epoch_day > s.end_stake_period - 365 and n.epoch_day <= s.end_stake_period
        left join lateral (
            select version.stake_total_start from (
                select h.stake_total_start, h.timestamp_range from entity_stake_history h
                where h.id = s.id and lower(h.timestamp_range) < n.consensus_timestamp
                order by lower(h.timestamp_range) desc limit 1
            ) version where version.timestamp_range @> n.consensus_timestamp - 1
        ) past on true
        where s.id > %(after)s and s.id <= %(to)s
            and e.stake_period_start >= 0 and e.stake_period_start < %(last)s - 365
        group by s.id
    )
    update entity_stake s set pending_reward = earned.reward
    from earned where earned.id = s.id and s.pending_reward <> earned.reward"""

_DELETED_NODES = """
    update entity_stake s set pending_reward = 0
    where s.id > %(after)s and s.id <= %(to)s and s.pending_reward <> 0
        and (select max(epoch_day) from node_stake n where n.node_id = s.staked_node_id_start)
            < s.end_stake_period - 364"""


def value_long_stakes(keys: KeyRange) -> int:
    last = statements.value("select max(end_stake_period) from entity_stake")
    statements.execute(_LOCK, keys._asdict() | {"last": last})
    return execute_range(_LONG_STAKES, keys, last=last)


def _highest_account() -> int | None:
    highest: int | None = statements.value("select max(id) from entity_stake")
    return highest


LONG_STAKES = Backfill(
    name="long_stakes_rewards",
    table="entity_stake",
    key="id",
    newest=_highest_account,
    change=value_long_stakes,
    is_needed=lambda: Persist().pending_reward,
)
DELETED_NODES = Backfill(
    name="gone_nodes_rewards",
    table="entity_stake",
    key="id",
    newest=_highest_account,
    change=partial(execute_range, _DELETED_NODES),
    is_needed=lambda: Persist().pending_reward,
)
