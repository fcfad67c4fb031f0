from django.db import migrations

import mirror.core.db.schema.indexes
from mirror.core.db.schema.operations import AddIndexOrBackfill


class Migration(migrations.Migration):
    """The index of snapshots of accounts by balance."""

    atomic = False
    dependencies = [("ledger", "0006_transaction_indexes")]

    operations = [
        AddIndexOrBackfill(
            model_name="accountbalance",
            index=mirror.core.db.schema.indexes.Index(
                fields=["balance", "account_id"], name="account_balance__balance_account"
            ),
            backfill="past_balance_index",
        )
    ]
