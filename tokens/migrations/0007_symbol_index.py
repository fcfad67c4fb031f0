from django.db import migrations

import mirror.core.db.schema.indexes
from mirror.core.db.schema.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """The index of tokens by symbol."""

    atomic = False
    dependencies = [("tokens", "0006_past_holdings_index")]

    operations = [
        AddIndexOrBackfill(
            model_name="token",
            index=mirror.core.db.schema.indexes.Index(fields=["symbol", "token_id"], name="token__symbol"),
            backfill="token_symbol_index",
        )
    ]
