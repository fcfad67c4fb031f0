"""Scheduled transactions."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index
from mirror.core.db.writing.merge import MergeRule


class Schedule(models.Model):
    """One scheduled transaction.

    Written by SCHEDULECREATE; the transaction it carries sets `executed_timestamp`.
    """

    merge = MergeRule(
        key=("schedule_id",),
        fixed=frozenset(
            {
                "consensus_timestamp",
                "creator_account_id",
                "expiration_time",
                "payer_account_id",
                "transaction_body",
                "wait_for_expiry",
            }
        ),
        # The execution of a schedule that is not stored is dropped.
        required="consensus_timestamp",
        history=False,
    )

    consensus_timestamp = fields.ConsensusTimestampField()
    creator_account_id = fields.EntityIdField()
    executed_timestamp = fields.ConsensusTimestampField(null=True)
    payer_account_id = fields.EntityIdField()
    schedule_id = fields.ScheduleIdField(primary_key=True)
    transaction_body = fields.MessageField("SchedulableTransactionBody")
    expiration_time = fields.NanosTimestampField(null=True)
    wait_for_expiry = models.BooleanField(db_default=False)

    class Meta:
        db_table = "schedule"
        indexes = [
            Index(fields=["-creator_account_id"], name="schedule__creator_account_id"),
            Index(fields=["creator_account_id", "schedule_id"], name="schedule__creator_schedule"),
        ]
