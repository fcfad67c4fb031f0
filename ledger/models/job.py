"""Jobs of the node other than ingest."""

from django.db import models

from mirror.core.db.schema import fields


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
