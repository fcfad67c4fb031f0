"""Snapshots of hbar balances, and what comparing them found."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index
from mirror.core.db.schema.tables import MonthlyPartitions


class AccountBalance(MonthlyPartitions, models.Model):
    """One account's balance (tinybars) at one snapshot.

    The first snapshot of a month holds every account, later ones those that changed since; account 2 is in
    each and marks it. No transaction writes it: snapshots are taken while files are ingested.
    """

    # Computed from other tables, not from one transaction.
    compared = None

    pk = models.CompositePrimaryKey("account_id", "consensus_timestamp")
    consensus_timestamp = fields.SnapshotTimestampField(domain="nanos_timestamp")
    balance = fields.TinybarField(domain="hbar_tinybars")
    account_id = fields.EntityIdField(domain="entity_id")

    class Meta:
        db_table = "account_balance"
        indexes = [Index(fields=["balance", "account_id"], name="account_balance__balance_account")]


class AccountBalanceFile(models.Model):
    """One balance snapshot: from a balance file of the network, or taken by the node itself (`synthetic`)."""

    # Computed from other tables, not from one transaction.
    compared = None

    consensus_timestamp = fields.SnapshotTimestampField(primary_key=True)
    count = fields.NumberField()
    load_start = fields.MillisecondsField()
    load_end = fields.MillisecondsField()
    file_hash = models.CharField(max_length=96, null=True)
    name = models.CharField(max_length=250)
    bytes = fields.BytesField(null=True)
    time_offset = models.IntegerField(db_default=0)
    synthetic = models.BooleanField(db_default=False)

    class Meta:
        db_table = "account_balance_file"
        indexes = [
            Index(fields=["name"], name="account_balance_file__name"),
        ]


class BalanceDifference(models.Model):
    """A balance that a file of the network states otherwise than this node: written by `manage.py reconcile`.

    `token_id` is 0 for tinybars. A balance that only one of the two has is 0 for the other.
    """

    compared = None

    pk = models.CompositePrimaryKey("consensus_timestamp", "account_id", "token_id")
    consensus_timestamp = fields.SnapshotTimestampField()
    account_id = fields.EntityIdField()
    token_id = fields.EntityIdField()
    ours = fields.TokenAmountField()
    theirs = fields.TokenAmountField()
    file = models.TextField()

    class Meta:
        db_table = "balance_difference"


class ReconciliationJob(models.Model):
    """One run that compared balance snapshots with the sum of transfers. No transaction writes it."""

    compared = None

    consensus_timestamp = fields.NanosTimestampField()
    count = fields.NumberField()
    error = models.TextField(db_default="")
    timestamp_end = models.DateTimeField(null=True)
    timestamp_start = models.DateTimeField(primary_key=True)
    status = models.SmallIntegerField()

    class Meta:
        db_table = "reconciliation_job"
