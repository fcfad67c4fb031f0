"""Staking figures of the network. Amounts in tinybars, rates in tinybars per hbar."""

from django.db import models

from mirror.db.indexes import Index


class NetworkStake(models.Model):
    """The whole network in one staking period. Written by NODESTAKEUPDATE."""

    consensus_timestamp = models.BigIntegerField(primary_key=True)
    epoch_day = models.BigIntegerField()
    max_staking_reward_rate_per_hbar = models.BigIntegerField()
    node_reward_fee_denominator = models.BigIntegerField()
    node_reward_fee_numerator = models.BigIntegerField()
    stake_total = models.BigIntegerField()
    staking_period = models.BigIntegerField()
    staking_period_duration = models.BigIntegerField()
    staking_periods_stored = models.BigIntegerField()
    staking_reward_fee_denominator = models.BigIntegerField()
    staking_reward_fee_numerator = models.BigIntegerField()
    staking_reward_rate = models.BigIntegerField()
    staking_start_threshold = models.BigIntegerField()
    max_stake_rewarded = models.BigIntegerField(db_default=0)
    max_total_reward = models.BigIntegerField(db_default=0)
    reserved_staking_rewards = models.BigIntegerField(db_default=0)
    reward_balance_threshold = models.BigIntegerField(db_default=0)
    unreserved_staking_reward_balance = models.BigIntegerField(db_default=0)

    class Meta:
        db_table = "network_stake"


class NodeStake(models.Model):
    """One node in one staking period. Written by NODESTAKEUPDATE."""

    pk = models.CompositePrimaryKey("consensus_timestamp", "node_id")
    consensus_timestamp = models.BigIntegerField()
    epoch_day = models.BigIntegerField()
    node_id = models.BigIntegerField()
    reward_rate = models.BigIntegerField()
    stake = models.BigIntegerField()
    stake_rewarded = models.BigIntegerField()
    staking_period = models.BigIntegerField()
    max_stake = models.BigIntegerField()
    min_stake = models.BigIntegerField()
    stake_not_rewarded = models.BigIntegerField()

    class Meta:
        db_table = "node_stake"
        indexes = [
            Index(fields=["epoch_day"], name="node_stake__epoch_day"),
        ]
