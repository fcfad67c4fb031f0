"""What the network states of itself: stakes (HIP-406), once a day, in tinybars; its ledger id (HIP-1200)."""

from base64 import b64encode

from django.db.backends.utils import CursorWrapper

from ledger.ingest.balances.staking_rewards import compute_rewards
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import at_start, handles
from ledger.stream.record_item import RecordItem
from mirror.core import config
from mirror.core.values import timestamp
from mirror.core.values.timestamp import NANOS_PER_DAY
from network.models import Ledger, NetworkStake, NodeStake

# Columns with the names of the fields that they come from.
_OF_NETWORK = (
    *(
        "max_stake_rewarded",
        "max_staking_reward_rate_per_hbar",
        "max_total_reward",
        "reserved_staking_rewards",
    ),
    *("reward_balance_threshold", "staking_periods_stored", "staking_reward_rate", "staking_start_threshold"),
    "unreserved_staking_reward_balance",
)
_OF_NODE = (
    "node_id",
    "max_stake",
    "min_stake",
    "reward_rate",
    "stake",
    "stake_not_rewarded",
    "stake_rewarded",
)


@handles("NODESTAKEUPDATE")
def node_stake_update(item: RecordItem, batch: Batch) -> None:
    """Store the stakes of a staking period that has ended. Source: body.node_stake_update.

    Rows: network_stake insert; node_stake insert per node; unless there are no nodes, the pending rewards of
    accounts (`compute_rewards`), if configured.
    """
    # BODY
    body, consensus_timestamp = item.body.node_stake_update, item.consensus_timestamp
    period = {
        "consensus_timestamp": consensus_timestamp,
        "epoch_day": consensus_timestamp // NANOS_PER_DAY - 1,
        "staking_period": timestamp.to_ns(body.end_of_staking_period),
    }
    # ROWS
    batch.insert(
        NetworkStake,
        **period,
        **{name: getattr(body, name) for name in _OF_NETWORK},
        node_reward_fee_denominator=body.node_reward_fee_fraction.denominator,
        node_reward_fee_numerator=body.node_reward_fee_fraction.numerator,
        stake_total=sum(node.stake_rewarded + node.stake_not_rewarded for node in body.node_stake),
        staking_period_duration=body.staking_period,
        staking_reward_fee_denominator=body.staking_reward_fee_fraction.denominator,
        staking_reward_fee_numerator=body.staking_reward_fee_fraction.numerator,
    )
    for node in body.node_stake:
        batch.insert(NodeStake, **period, **{name: getattr(node, name) for name in _OF_NODE})
    if body.node_stake and batch.persist.pending_reward:
        batch.after_file(compute_rewards)


@handles("LEDGERIDPUBLICATION")
def ledger_id_publication(item: RecordItem, batch: Batch) -> None:
    """Store a ledger id with its key; the last publication of an id counts.

    Source: body.ledger_id_publication. Rows: ledger upsert.
    """
    body = item.body.ledger_id_publication
    batch.upsert(
        Ledger,
        ledger_id=body.ledger_id,
        consensus_timestamp=item.consensus_timestamp,
        history_proof_verification_key=body.history_proof_verification_key,
        node_contributions=[
            {
                "history_proof_key": b64encode(contribution.history_proof_key).decode(),
                "node_id": contribution.node_id,
                "weight": contribution.weight,
            }
            for contribution in body.node_contributions
        ],
    )


@at_start
def catch_up(cursor: CursorWrapper) -> None:
    """Compute the rewards of periods that ended while the setting was off."""
    if config.value("importer.parser.record.entity.persist.pendingReward"):
        compute_rewards(cursor)
