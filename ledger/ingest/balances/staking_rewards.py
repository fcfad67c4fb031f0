"""Pending staking rewards: `entity_stake`, computed once per staking period (HIP-406).

A period ends with a NODESTAKEUPDATE, whose consensus timestamp is called its end below. Rewards follow from
the state of the accounts at that time and the figures of the period before. Amounts are tinybars; a stake
earns per whole hbar. Nothing is earned for longer than a year: from then on, each new period takes the reward
of the one a year before with it. A row has the stake at the start of the period that follows its own: a
period earned by the row that was valid until the period's end.

A period is computed in the transaction that stores its end, so it is never visible half done. It is computed
in chunks of accounts; the pauses between them leave the disk to others.
"""

from typing import NamedTuple

from django.db.backends.utils import CursorWrapper

from ledger.ingest.balances.snapshots import TREASURY_NUM
from mirror.core import config
from mirror.core.db.distribution import choose
from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.processes import signals
from mirror.core.values.timestamp import NANOS_PER_DAY

REWARD_ACCOUNT_NUM = 800
# Balances are taken from snapshots of at most this age and the transfers since.
SNAPSHOT_AGE = 31 * NANOS_PER_DAY

# The first period follows the account that pays the rewards; before the first snapshot no balance is known.
_NEXT_PERIOD = """
    with reward_account as (
        select lower(timestamp_range) as since from entity where id = %(reward_account)s
        union all
        select lower(timestamp_range) from entity_history where id = %(reward_account)s
    )
    select epoch_day, consensus_timestamp, exists (select 1 from entity_stake where id = %(reward_account)s)
    from node_stake
    where exists (select 1 from reward_account) and case
        when exists (select 1 from entity_stake where id = %(reward_account)s)
        then epoch_day > (select end_stake_period from entity_stake where id = %(reward_account)s)
        else consensus_timestamp > (select min(since) from reward_account)
            and consensus_timestamp >= %(first_snapshot)s
        end
    order by consensus_timestamp limit 1"""

_FIRST_SNAPSHOT = """
    select min(consensus_timestamp) from account_balance where account_id = %(treasury)s"""

_SNAPSHOT = """
    select max(consensus_timestamp) from account_balance
    where account_id = %(treasury)s and consensus_timestamp <= %(end)s
        and consensus_timestamp > %(end)s - %(age)s"""

_SCRATCH = """
    create temporary table if not exists entity_state_start (
        id bigint, balance bigint, staked_account_id bigint, staked_node_id bigint, stake_period_start bigint
    ) on commit drop"""

# Accounts and contracts that stake or are staked to, as they were; by entity_history__timestamp_range.
_STATE = """
    insert into entity_state_start
    with version as (
        select id, type, deleted, decline_reward, staked_account_id, staked_node_id, stake_period_start
        from entity where timestamp_range @> %(end)s::bigint
        union all
        select id, type, deleted, decline_reward, staked_account_id, staked_node_id, stake_period_start
        from entity_history where timestamp_range @> %(end)s::bigint
    ), staker as (
        select * from version
        where id = %(reward_account)s or (
            type in ('ACCOUNT', 'CONTRACT') and deleted is not true
            and (coalesce(staked_account_id, 0) <> 0
                or (decline_reward is false and coalesce(staked_node_id, -1) <> -1))
        )
    )
    select staker.id, coalesce(before.balance, 0) + coalesce(moved.amount, 0),
        coalesce(staked_account_id, 0), coalesce(staked_node_id, -1), coalesce(stake_period_start, -1)
    from staker
    left join lateral (
        select balance from account_balance
        where account_id = staker.id and consensus_timestamp <= %(snapshot)s
            and consensus_timestamp > %(snapshot)s - %(age)s
        order by consensus_timestamp desc limit 1
    ) before on true
    left join (
        select entity_id, sum(amount)::bigint as amount from crypto_transfer
        where consensus_timestamp > %(snapshot)s and consensus_timestamp <= %(end)s
            and errata is distinct from 'DELETE'
        group by entity_id
    ) moved on moved.entity_id = staker.id"""

# The last id of the chunk that begins after another id, and the first of the next one, if there is one.
_END_OF_CHUNK = """
    select id from entity_state_start where id > %(after)s order by id offset %(size)s - 1 limit 2"""

# The history is read by entity_stake_history__id_lower_timestamp, once for each account without a reward
# for a year.
_STAKES = """
    with staked_to as (
        select staked_account_id as id, sum(balance)::bigint as amount from entity_state_start
        where staked_account_id <> 0 and staked_account_id > %(after)s and staked_account_id <= %(upto)s
        group by staked_account_id
    ), rate as (
        select node_id, reward_rate from node_stake where consensus_timestamp = %(end)s
    ), active as (
        select distinct node_id from node_stake where epoch_day > %(day)s - 365 and epoch_day <= %(day)s
    ), forfeited as (
        select distinct on (node_id) node_id, reward_rate, consensus_timestamp from node_stake
        where epoch_day = %(day)s - 365 order by node_id, consensus_timestamp
    ), fresh as (
        select state.id, state.staked_node_id, coalesce(staked_to.amount, 0) as staked_to_me,
            case when state.staked_node_id = -1 then 0
                else state.balance + coalesce(staked_to.amount, 0) end as stake_total,
            case
                when last.id is null or last.staked_node_id_start = -1 or active.node_id is null then 0
                when rate.reward_rate is null then last.pending_reward
                when state.stake_period_start > %(day)s - 1 then 0
                when state.stake_period_start = %(day)s - 1
                    then rate.reward_rate * (last.stake_total_start / 100000000)
                when %(day)s - state.stake_period_start > 365
                    then last.pending_reward + rate.reward_rate * (last.stake_total_start / 100000000)
                        - coalesce(forfeited.reward_rate, 0)
                            * (coalesce(a_year_ago.stake_total_start, last.stake_total_start) / 100000000)
                else last.pending_reward + rate.reward_rate * (last.stake_total_start / 100000000)
            end as pending_reward
        from entity_state_start state
        left join staked_to using (id)
        left join entity_stake last on last.id = state.id
        left join rate on rate.node_id = last.staked_node_id_start
        left join active on active.node_id = last.staked_node_id_start
        left join forfeited on forfeited.node_id = last.staked_node_id_start
        left join lateral (
            select stake_total_start from entity_stake_history
            where %(day)s - state.stake_period_start > 365 and id = state.id
                and lower(timestamp_range) < forfeited.consensus_timestamp
                and timestamp_range @> forfeited.consensus_timestamp - 1
            order by lower(timestamp_range) desc limit 1
        ) a_year_ago on true
        where (state.staked_node_id <> -1 or state.id = %(reward_account)s)
            and state.id > %(after)s and state.id <= %(upto)s
    ), closed as (
        insert into entity_stake_history (id, end_stake_period, pending_reward, staked_node_id_start,
            staked_to_me, stake_total_start, timestamp_range)
        select last.id, last.end_stake_period, last.pending_reward, last.staked_node_id_start,
            last.staked_to_me, last.stake_total_start, int8range(lower(last.timestamp_range), %(end)s)
        from entity_stake last join fresh using (id)
    )
    insert into entity_stake (id, end_stake_period, pending_reward, staked_node_id_start, staked_to_me,
        stake_total_start, timestamp_range)
    select id, %(day)s, greatest(pending_reward, 0), staked_node_id, staked_to_me, stake_total,
        int8range(%(end)s, null)
    from fresh
    on conflict (id) do update set end_stake_period = excluded.end_stake_period,
        pending_reward = excluded.pending_reward, staked_node_id_start = excluded.staked_node_id_start,
        staked_to_me = excluded.staked_to_me, stake_total_start = excluded.stake_total_start,
        timestamp_range = excluded.timestamp_range"""

# The same for a distributed history, which can't be read once for each account: all that held at these times.
_A_YEAR_AGO = _STAKES[
    _STAKES.index("        left join lateral") : _STAKES.index("        where (state.staked")
]
_DISTRIBUTED_STAKES = _STAKES.replace(
    _A_YEAR_AGO,
    """
        left join a_year_ago on a_year_ago.id = state.id and a_year_ago.node_id = forfeited.node_id
            and %(day)s - state.stake_period_start > 365
""",
).replace(
    "), fresh as (",
    """), a_year_ago as materialized (
        select distinct on (id, node_id) id, node_id, stake_total_start
        from entity_stake_history join forfeited on timestamp_range @> forfeited.consensus_timestamp - 1
        order by id, node_id, lower(timestamp_range) desc
    ), fresh as (""",
)


class Period(NamedTuple):
    """A staking period: its epoch day, and the consensus timestamp of the NODESTAKEUPDATE that ended it."""

    day: int
    end: int


def compute_rewards(cursor: CursorWrapper) -> None:
    """Bring `entity_stake` up to the last period that ended and has a balance snapshot."""
    values = {
        "reward_account": config.own_id(REWARD_ACCOUNT_NUM),
        "treasury": config.own_id(TREASURY_NUM),
        "age": SNAPSHOT_AGE,
    }
    while period := _next_period(cursor, values):
        cursor.execute(_SNAPSHOT, values | {"end": period.end})
        (snapshot,) = cursor.fetchone()
        if snapshot is None:
            return
        cursor.execute(_SCRATCH)
        cursor.execute("truncate entity_state_start")
        cursor.execute(_STATE, values | {"end": period.end, "snapshot": snapshot})
        _compute_stakes(cursor, values | {"end": period.end, "day": period.day})


def _compute_stakes(cursor: CursorWrapper, values: dict[str, int]) -> None:
    """Compute the stakes of a period chunk by chunk; once the process is to stop, without pauses."""
    size: int = config.value("importer.parser.record.entity.staking.chunkSize")
    delay: float = config.value("importer.parser.record.entity.staking.chunkDelay")
    stakes = choose(_STAKES, distributed=_DISTRIBUTED_STAKES)
    after, upto = -MAX_INT64 - 1, 0
    while upto < MAX_INT64:
        cursor.execute(_END_OF_CHUNK, {"after": after, "size": size})
        ends = cursor.fetchall()
        upto = ends[0][0] if len(ends) > 1 else MAX_INT64
        cursor.execute(stakes, values | {"after": after, "upto": upto})
        if upto < MAX_INT64:
            signals.pause(delay)
        after = upto


def _next_period(cursor: CursorWrapper, values: dict[str, int]) -> Period | None:
    cursor.execute(_NEXT_PERIOD, values | {"first_snapshot": 0})
    row = cursor.fetchone()
    if row and not row[2]:
        # Only then: planning it takes milliseconds for all the months, and each batch comes here.
        cursor.execute(_FIRST_SNAPSHOT, values)
        (first_snapshot,) = cursor.fetchone()
        cursor.execute(_NEXT_PERIOD, values | {"first_snapshot": first_snapshot})
        row = cursor.fetchone()
    return Period(*row[:2]) if row else None
