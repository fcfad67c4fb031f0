"""Movements of fungible tokens."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from mirror.db.fields import EntityIdField, TinybarField
from mirror.db.indexes import Index
from mirror.db.tables import Compared, KeylessTable


class TokenTransfer(KeylessTable, models.Model):
    """One account's change in one token in one transaction, in the token's smallest unit.

    Written by every transaction whose record lists token transfers.
    """

    compared = Compared(completed_rows=True)

    pk = models.CompositePrimaryKey("consensus_timestamp", "token_id", "account_id", "amount")
    token_id = EntityIdField()
    account_id = EntityIdField()
    consensus_timestamp = models.BigIntegerField()
    amount = TinybarField()
    payer_account_id = models.BigIntegerField()
    is_approval = models.BooleanField(null=True)

    class Meta:
        db_table = "token_transfer"
        indexes = [
            Index(fields=["account_id", "-consensus_timestamp"], name="token_transfer__account_timestamp"),
            Index(
                fields=["-consensus_timestamp", "-token_id", "-account_id"],
                name="token_transfer__token_account_timestamp",
            ),
        ]


class AssessedCustomFee(KeylessTable, models.Model):
    """One custom fee a transaction charged; without `token_id` it was paid in hbar.

    Written by every transaction whose record lists assessed fees.
    """

    pk = models.CompositePrimaryKey("consensus_timestamp", "collector_account_id", "amount")
    amount = models.BigIntegerField()
    collector_account_id = models.BigIntegerField()
    consensus_timestamp = models.BigIntegerField()
    token_id = models.BigIntegerField(null=True)
    effective_payer_account_ids = ArrayField(models.BigIntegerField())
    payer_account_id = models.BigIntegerField()

    class Meta:
        db_table = "assessed_custom_fee"
        indexes = [
            Index(fields=["consensus_timestamp"], name="assessed_custom_fee__consensus_timestamp"),
        ]
