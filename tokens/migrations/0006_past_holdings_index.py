from django.db import migrations

import mirror.core.db.schema.indexes
from mirror.core.db.schema.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """The index of snapshots of a token's holders by balance."""

    atomic = False
    dependencies = [("tokens", "0005_debit_index")]

    operations = [
        AddIndexOrBackfill(
            model_name="tokenbalance",
            index=mirror.core.db.schema.indexes.Index(
                fields=["token_id", "balance", "account_id"], name="token_balance__token_balance_account"
            ),
            backfill="past_holdings_index",
        )
    ]
