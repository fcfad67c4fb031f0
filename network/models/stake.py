"""Stakes of the network and its nodes. Amounts in tinybars, rates in tinybars per hbar."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index


class NetworkStake(models.Model):
    """The network's stake and rewards in one staking period. Written by NODESTAKEUPDATE."""

    consensus_timestamp = fields.ConsensusTimestampField(primary_key=True)
    epoch_day = fields.EpochDayField()
    max_staking_reward_rate_per_hbar = fields.TinybarField()
    node_reward_fee_denominator = fields.NumberField()
    node_reward_fee_numerator = fields.NumberField()
    stake_total = fields.TinybarField()
    staking_period = fields.NanosTimestampField()
    staking_period_duration = fields.MinutesField()
    staking_periods_stored = fields.NumberField()
    staking_reward_fee_denominator = fields.NumberField()
    staking_reward_fee_numerator = fields.NumberField()
    staking_reward_rate = fields.TinybarField()
    staking_start_threshold = fields.TinybarField()
    max_stake_rewarded = fields.TinybarField(db_default=0)
    max_total_reward = fields.TinybarField(db_default=0)
    reserved_staking_rewards = fields.TinybarField(db_default=0)
    reward_balance_threshold = fields.TinybarField(db_default=0)
    unreserved_staking_reward_balance = fields.TinybarField(db_default=0)

    class Meta:
        db_table = "network_stake"


class NodeStake(models.Model):
    """One node's stake in one staking period. Written by NODESTAKEUPDATE."""

    # Work at barriers looks for the rows that are stored by then.
    written_in_order = True

    pk = models.CompositePrimaryKey("consensus_timestamp", "node_id")
    consensus_timestamp = fields.ConsensusTimestampField()
    epoch_day = fields.EpochDayField()
    node_id = fields.IdentifierField()
    reward_rate = fields.TinybarField()
    stake = fields.TinybarField()
    stake_rewarded = fields.TinybarField()
    staking_period = fields.NanosTimestampField()
    max_stake = fields.TinybarField()
    min_stake = fields.TinybarField()
    stake_not_rewarded = fields.TinybarField()

    class Meta:
        db_table = "node_stake"
        indexes = [
            Index(fields=["epoch_day"], name="node_stake__epoch_day"),
        ]
