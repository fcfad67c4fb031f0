from django.db import migrations

import mirror.core.db.schema.indexes
from mirror.core.db.schema.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """The index of tokens by type."""

    atomic = False
    dependencies = [("tokens", "0003_indexes")]

    operations = [
        AddIndexOrBackfill(
            model_name="token",
            index=mirror.core.db.schema.indexes.Index(fields=["type", "token_id"], name="token__type_id"),
            backfill="token_type_index",
        )
    ]
