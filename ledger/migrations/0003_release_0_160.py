from django.db import migrations, models

import mirror.core.db.schema.fields
from mirror.core.db.schema.operations import AddFieldIfMissing, RemoveFieldIfPresent


class Migration(migrations.Migration):
    """Changes of the original's schema between its releases 0.145.1 and 0.160.

    The first columns to go are those without which a loader of an older release can't write.
    """

    atomic = False
    dependencies = [("ledger", "0002_custom_fees"), ("mirror", "0004_backfill")]

    operations = [
        RemoveFieldIfPresent(model_name="recordfile", name="node_id"),
        RemoveFieldIfPresent(model_name="accountbalancefile", name="node_id"),
        *(
            AddFieldIfMissing(
                model_name=model,
                name="delegation_address",
                field=mirror.core.db.schema.fields.BytesField(null=True),
            )
            for model in ("entity", "entityhistory")
        ),
        *(
            AddFieldIfMissing(
                model_name="recordfile", name=name, field=mirror.core.db.schema.fields.BytesField(null=True)
            )
            for name in (
                "previous_wrapped_record_block_hash",
                "wrapped_record_block_hash",
                "receipts_root",
            )
        ),
        AddFieldIfMissing(
            model_name="transaction", name="high_volume", field=models.BooleanField(db_default=False)
        ),
        *(
            AddFieldIfMissing(model_name="transaction", name=name, field=models.BigIntegerField(null=True))
            for name in ("congestion_pricing_multiplier", "high_volume_pricing_multiplier")
        ),
    ]
