"""Stakes of the network and its nodes (HIP-406), which NODESTAKEUPDATE states once a day. In tinybars."""

from django.db.backends.utils import CursorWrapper

from ledger.ingest.computed.staking_rewards import compute_rewards
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import at_start, handles
from ledger.stream.record.item import RecordItem
from mirror.core import config
from mirror.core.values import timestamp
from mirror.core.values.timestamp import NANOS_PER_DAY
from network.models import NetworkStake, NodeStake


@handles("NODESTAKEUPDATE")
def node_stake_update(item: RecordItem, batch: Batch) -> None:
    """Store the stakes of a staking period that has ended. Source: body.node_stake_update.

    Rows: network_stake insert; node_stake insert per node; unless there are no nodes, the pending rewards of
    accounts (`compute_rewards`), if configured.
    """
    # BODY
    body, at = item.body.node_stake_update, item.consensus_timestamp
    period = {
        "consensus_timestamp": at,
        "epoch_day": at // NANOS_PER_DAY - 1,
        "staking_period": timestamp.of(body.end_of_staking_period),
    }
    # ROWS
    batch.insert(
        NetworkStake,
        **period,
        max_stake_rewarded=body.max_stake_rewarded,
        max_staking_reward_rate_per_hbar=body.max_staking_reward_rate_per_hbar,
        max_total_reward=body.max_total_reward,
        node_reward_fee_denominator=body.node_reward_fee_fraction.denominator,
        node_reward_fee_numerator=body.node_reward_fee_fraction.numerator,
        reserved_staking_rewards=body.reserved_staking_rewards,
        reward_balance_threshold=body.reward_balance_threshold,
        stake_total=sum(node.stake_rewarded + node.stake_not_rewarded for node in body.node_stake),
        staking_period_duration=body.staking_period,
        staking_periods_stored=body.staking_periods_stored,
        staking_reward_fee_denominator=body.staking_reward_fee_fraction.denominator,
        staking_reward_fee_numerator=body.staking_reward_fee_fraction.numerator,
        staking_reward_rate=body.staking_reward_rate,
        staking_start_threshold=body.staking_start_threshold,
        unreserved_staking_reward_balance=body.unreserved_staking_reward_balance,
    )
    for node in body.node_stake:
        batch.insert(
            NodeStake,
            **period,
            node_id=node.node_id,
            max_stake=node.max_stake,
            min_stake=node.min_stake,
            reward_rate=node.reward_rate,
            stake=node.stake,
            stake_not_rewarded=node.stake_not_rewarded,
            stake_rewarded=node.stake_rewarded,
        )
    if body.node_stake and batch.persist.pending_reward:
        batch.after_file(compute_rewards)


@at_start
def catch_up(cursor: CursorWrapper) -> None:
    """Compute the rewards of periods that ended while the setting was off."""
    if config.value("importer.parser.record.entity.persist.pendingReward"):
        compute_rewards(cursor)
