"""Work the node does beside ingest."""

from django.db import models


class ReconciliationJob(models.Model):
    """One run that compared balance snapshots with the sum of transfers. No transaction writes it."""

    compared = None

    consensus_timestamp = models.BigIntegerField()
    count = models.BigIntegerField()
    error = models.TextField(db_default="")
    timestamp_end = models.DateTimeField(null=True)
    timestamp_start = models.DateTimeField(primary_key=True)
    status = models.SmallIntegerField()

    class Meta:
        db_table = "reconciliation_job"
