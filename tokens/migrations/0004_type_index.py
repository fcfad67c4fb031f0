from django.db import migrations

import mirror.db.indexes
from mirror.db.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """The index of tokens by type."""

    atomic = False
    dependencies = [("tokens", "0003_indexes")]

    operations = [
        AddIndexOrBackfill(
            model_name="token",
            index=mirror.db.indexes.Index(fields=["type", "token_id"], name="token__type_id"),
            backfill="token_type_index",
        )
    ]
