"""Transfers of hbar. Amounts in tinybars, negative for the account that pays."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.enums import ErrataType
from mirror.core.db.schema.indexes import Index
from mirror.core.db.schema.tables import KeylessTable, PartitionableTable


class CryptoTransfer(KeylessTable, PartitionableTable, models.Model):
    """One account's balance change in one transaction, fees included.

    Written by every transaction, from the transfer list of its record.
    """

    pk = models.CompositePrimaryKey("consensus_timestamp", "entity_id", "amount")
    entity_id = fields.EntityIdField(domain="entity_id")
    consensus_timestamp = fields.ConsensusTimestampField(domain="nanos_timestamp")
    amount = fields.TinybarField(domain="hbar_tinybars")
    payer_account_id = fields.EntityIdField()
    is_approval = models.BooleanField(null=True)
    errata = fields.EnumField("errata_type", choices=ErrataType, null=True)

    class Meta:
        db_table = "crypto_transfer"
        indexes = [
            Index(fields=["consensus_timestamp"], name="crypto_transfer__consensus_timestamp"),
            Index(
                fields=["entity_id", "consensus_timestamp"],
                name="crypto_transfer__entity_id_consensus_timestamp",
                condition=models.Q(entity_id__ne=98),
            ),
            # Nodes and collectors get a part of each fee, so most of their transfers are credits.
            Index(
                fields=["entity_id", "consensus_timestamp"],
                name="crypto_transfer__credit",
                condition=models.Q(amount__gt=0, entity_id__gt=1000),
            ),
            # Nearly all that accounts pay, they pay in transactions of their own.
            Index(
                fields=["entity_id", "consensus_timestamp"],
                name="crypto_transfer__debit_of_others",
                condition=models.Q(amount__lt=0) & models.Q(entity_id__ne=models.F("payer_account_id")),
            ),
        ]


class NonFeeTransfer(KeylessTable, models.Model):
    """One transfer that a transaction body requested, without fees.

    No transaction writes these rows any more; older databases hold them.
    """

    pk = models.CompositePrimaryKey("consensus_timestamp", "payer_account_id", "amount")
    entity_id = fields.EntityIdField(domain="entity_id", null=True)
    consensus_timestamp = fields.ConsensusTimestampField(domain="nanos_timestamp")
    amount = fields.TinybarField(domain="hbar_tinybars")
    payer_account_id = fields.EntityIdField()
    is_approval = models.BooleanField(null=True)

    class Meta:
        db_table = "non_fee_transfer"
        indexes = [
            Index(fields=["consensus_timestamp"], name="non_fee_transfer__consensus_timestamp"),
        ]


class StakingRewardTransfer(PartitionableTable, models.Model):
    """One staking reward paid to an account. Written by any transaction whose record lists paid rewards."""

    pk = models.CompositePrimaryKey("consensus_timestamp", "account_id")
    account_id = fields.EntityIdField()
    amount = fields.TinybarField()
    consensus_timestamp = fields.ConsensusTimestampField()
    payer_account_id = fields.EntityIdField()

    class Meta:
        db_table = "staking_reward_transfer"
        indexes = [
            Index(
                fields=["account_id", "consensus_timestamp"],
                name="staking_reward_transfer__account_timestamp",
            ),
        ]
