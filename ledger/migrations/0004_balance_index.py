from django.db import migrations, models

import mirror.core.db.schema.indexes
from mirror.core.db.schema.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """The index of accounts by balance."""

    atomic = False
    dependencies = [("ledger", "0003_release_0_160"), ("mirror", "0005_backfill_newest")]

    operations = [
        AddIndexOrBackfill(
            model_name="entity",
            index=mirror.core.db.schema.indexes.Index(
                condition=models.Q(("type__in", ["ACCOUNT", "CONTRACT"])),
                fields=["balance", "id"],
                name="entity__balance",
            ),
            backfill="balance_index",
        )
    ]
