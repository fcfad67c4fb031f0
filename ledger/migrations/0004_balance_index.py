from django.db import migrations, models

import mirror.db.indexes
from mirror.db.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """The index of accounts by balance."""

    atomic = False
    dependencies = [("ledger", "0003_release_0_160"), ("mirror", "0005_backfill_newest")]

    operations = [
        AddIndexOrBackfill(
            model_name="entity",
            index=mirror.db.indexes.Index(
                condition=models.Q(("type__in", ["ACCOUNT", "CONTRACT"])),
                fields=["balance", "id"],
                name="entity__balance",
            ),
            backfill="balance_index",
        )
    ]
