from django.db import migrations

import mirror.core.db.schema.indexes
from mirror.core.db.schema.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """An index of schedules by creator and id, without which all schedules of the creator are sorted."""

    atomic = False
    dependencies = [("ledger", "0004_balance_index"), ("mirror", "0005_backfill_newest")]

    operations = [
        AddIndexOrBackfill(
            model_name="schedule",
            index=mirror.core.db.schema.indexes.Index(
                fields=["creator_account_id", "schedule_id"], name="schedule__creator_schedule"
            ),
            backfill="schedule_index",
        )
    ]
