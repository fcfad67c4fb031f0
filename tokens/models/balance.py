"""Snapshots of token balances."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index
from mirror.core.db.schema.tables import MonthlyPartitions


class TokenBalance(MonthlyPartitions, models.Model):
    """One account's balance of one token at one snapshot; later snapshots of a month hold changes only.

    No transaction writes it: snapshots are taken while files are ingested.
    """

    # Computed from other tables, not from one transaction.
    compared = None

    pk = models.CompositePrimaryKey("account_id", "token_id", "consensus_timestamp")
    consensus_timestamp = fields.SnapshotTimestampField()
    account_id = fields.EntityIdField(domain="entity_id")
    balance = fields.TokenAmountField()
    token_id = fields.TokenIdField(domain="entity_id")

    class Meta:
        db_table = "token_balance"
        indexes = [
            Index(
                fields=["token_id", "account_id", "consensus_timestamp"],
                name="token_balance__token_account_timestamp",
            ),
            Index(fields=["token_id", "balance", "account_id"], name="token_balance__token_balance_account"),
        ]
