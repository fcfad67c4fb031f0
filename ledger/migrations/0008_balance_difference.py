from django.db import migrations, models

import mirror.core.db.schema.fields
from mirror.core.db.schema.operations import CreateModelIfMissing


class Migration(migrations.Migration):
    """The balances that files of the network state otherwise."""

    dependencies = [("ledger", "0007_past_balance_index")]

    operations = [
        CreateModelIfMissing(
            name="BalanceDifference",
            fields=[
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "consensus_timestamp",
                        "account_id",
                        "token_id",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("consensus_timestamp", mirror.core.db.schema.fields.SnapshotTimestampField()),
                ("account_id", mirror.core.db.schema.fields.EntityIdField()),
                ("token_id", mirror.core.db.schema.fields.EntityIdField()),
                ("ours", mirror.core.db.schema.fields.NumberField()),
                ("theirs", mirror.core.db.schema.fields.NumberField()),
                ("file", models.TextField()),
            ],
            options={"db_table": "balance_difference"},
        ),
    ]
