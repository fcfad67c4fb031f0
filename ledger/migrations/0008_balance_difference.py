from django.db import migrations, models

import mirror.db.fields
from mirror.db.operations import CreateModelIfMissing


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
                ("consensus_timestamp", mirror.db.fields.SnapshotTimestampField()),
                ("account_id", mirror.db.fields.EntityIdField()),
                ("token_id", mirror.db.fields.EntityIdField()),
                ("ours", mirror.db.fields.NumberField()),
                ("theirs", mirror.db.fields.NumberField()),
                ("file", models.TextField()),
            ],
            options={"db_table": "balance_difference"},
        ),
    ]
