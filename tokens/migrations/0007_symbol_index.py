from django.db import migrations

import mirror.db.indexes
from mirror.db.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """The index of tokens by symbol."""

    atomic = False
    dependencies = [("tokens", "0006_past_holdings_index")]

    operations = [
        AddIndexOrBackfill(
            model_name="token",
            index=mirror.db.indexes.Index(fields=["symbol", "token_id"], name="token__symbol"),
            backfill="token_symbol_index",
        )
    ]
