import django.contrib.postgres.fields
import django.contrib.postgres.fields.ranges
from django.db import migrations, models

import mirror.core.db.schema.fields
import mirror.core.db.schema.indexes
import mirror.core.db.schema.tables
from mirror.core.db.schema.operations import AddFieldIfMissing, CreateModelIfMissing

REGISTERED_NODE = [
    ("admin_key", mirror.core.db.schema.fields.BytesField(null=True)),
    ("created_timestamp", models.BigIntegerField(null=True)),
    ("deleted", models.BooleanField(db_default=False)),
    ("description", models.CharField(max_length=100, null=True)),
    ("service_endpoints", models.JSONField(null=True)),
    ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
    (
        "type",
        django.contrib.postgres.fields.ArrayField(
            base_field=models.SmallIntegerField(), db_default=[], size=None
        ),
    ),
]


class Migration(migrations.Migration):
    """Changes of the original's schema between its releases 0.145.1 and 0.160."""

    atomic = False
    dependencies = [("network", "0001_initial"), ("mirror", "0004_backfill")]

    operations = [
        CreateModelIfMissing(
            name="Ledger",
            fields=[
                ("ledger_id", mirror.core.db.schema.fields.BytesField(primary_key=True, serialize=False)),
                ("consensus_timestamp", models.BigIntegerField()),
                ("history_proof_verification_key", mirror.core.db.schema.fields.BytesField()),
                ("node_contributions", models.JSONField()),
            ],
            options={"db_table": "ledger"},
        ),
        *(
            AddFieldIfMissing(
                model_name=model,
                name="associated_registered_nodes",
                field=django.contrib.postgres.fields.ArrayField(
                    base_field=models.BigIntegerField(), null=True, size=None
                ),
            )
            for model in ("node", "nodehistory")
        ),
        CreateModelIfMissing(
            name="RegisteredNode",
            fields=[
                *REGISTERED_NODE,
                ("registered_node_id", models.BigIntegerField(primary_key=True, serialize=False)),
            ],
            options={
                "db_table": "registered_node",
                "indexes": [
                    mirror.core.db.schema.indexes.GinIndex(
                        condition=models.Q(deleted__is=False), fields=["type"], name="registered_node__type"
                    )
                ],
            },
        ),
        CreateModelIfMissing(
            name="RegisteredNodeHistory",
            fields=[
                *REGISTERED_NODE,
                (
                    "pk",
                    models.CompositePrimaryKey(
                        "registered_node_id",
                        "timestamp_range",
                        blank=True,
                        editable=False,
                        primary_key=True,
                        serialize=False,
                    ),
                ),
                ("registered_node_id", models.BigIntegerField()),
            ],
            options={
                "verbose_name_plural": "registered node history",
                "db_table": "registered_node_history",
                "indexes": [
                    mirror.core.db.schema.indexes.Index(
                        models.F("registered_node_id"),
                        models.F("timestamp_range__startswith"),
                        name="registered_node_history__node_id_lower_timestamp",
                    )
                ],
            },
            bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
        ),
    ]
