"""Transfers of fungible tokens, and assessed custom fees."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index
from mirror.core.db.schema.tables import Compared, KeylessTable, PartitionableTable


class TokenTransfer(KeylessTable, PartitionableTable, models.Model):
    """One account's balance change of one token in one transaction, in the token's smallest unit.

    Written by every transaction whose record lists token transfers.
    """

    compared = Compared(completed_rows=True)

    pk = models.CompositePrimaryKey("consensus_timestamp", "token_id", "account_id", "amount")
    token_id = fields.TokenIdField(domain="entity_id")
    account_id = fields.EntityIdField(domain="entity_id")
    consensus_timestamp = fields.ConsensusTimestampField()
    amount = fields.TokenAmountField(domain="hbar_tinybars")
    payer_account_id = fields.EntityIdField()
    is_approval = models.BooleanField(null=True)

    class Meta:
        db_table = "token_transfer"
        indexes = [
            Index(fields=["account_id", "-consensus_timestamp"], name="token_transfer__account_timestamp"),
            Index(
                fields=["-consensus_timestamp", "-token_id", "-account_id"],
                name="token_transfer__token_account_timestamp",
            ),
            Index(
                fields=["account_id", "consensus_timestamp"],
                name="token_transfer__debit_of_others",
                condition=models.Q(amount__lt=0) & models.Q(account_id__ne=models.F("payer_account_id")),
            ),
        ]


class AssessedCustomFee(KeylessTable, PartitionableTable, models.Model):
    """One custom fee a transaction charged; without `token_id` it was paid in hbar.

    Written by every transaction whose record lists assessed fees.
    """

    pk = models.CompositePrimaryKey("consensus_timestamp", "collector_account_id", "amount")
    amount = fields.TokenAmountField()
    collector_account_id = fields.EntityIdField()
    consensus_timestamp = fields.ConsensusTimestampField()
    token_id = fields.TokenIdField(null=True)
    effective_payer_account_ids = ArrayField(fields.EntityIdField())
    payer_account_id = fields.EntityIdField()

    class Meta:
        db_table = "assessed_custom_fee"
        indexes = [
            Index(fields=["consensus_timestamp"], name="assessed_custom_fee__consensus_timestamp"),
        ]
