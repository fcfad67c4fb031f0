from django.db import migrations, models
from django.db.models.functions import Substr
from django.db.models.lookups import IsNull

import mirror.core.db.schema.indexes
from mirror.core.db.schema.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """Indexes of logs by the first bytes of each topic, which a search for a rare topic needs."""

    atomic = False
    dependencies = [("contracts", "0002_release_0_160"), ("mirror", "0005_backfill_newest")]

    operations = [
        AddIndexOrBackfill(
            model_name="contractlog",
            index=mirror.core.db.schema.indexes.Index(
                Substr(topic, 1, 8),
                models.F("consensus_timestamp"),
                models.F("index"),
                condition=models.Q(IsNull(Substr(topic, 1, 8), False)),
                name=f"contract_log__{topic}_timestamp",
            ),
            backfill=f"{topic}_index",
        )
        for topic in ("topic0", "topic1", "topic2", "topic3")
    ]
