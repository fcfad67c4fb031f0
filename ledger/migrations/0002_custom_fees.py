import django.contrib.postgres.fields.ranges
from django.db import migrations, models

import mirror.core.db.schema.indexes
import mirror.core.db.schema.tables


class Migration(migrations.Migration):
    """The models of custom_fee and custom_fee_history come from `tokens`; the tables stay as they are."""

    dependencies = [("ledger", "0001_initial"), ("tokens", "0002_custom_fees_leave")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.CreateModel(
                    name="CustomFee",
                    fields=[
                        ("fixed_fees", models.JSONField(null=True)),
                        ("fractional_fees", models.JSONField(null=True)),
                        ("royalty_fees", models.JSONField(null=True)),
                        ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                        ("entity_id", models.BigIntegerField(primary_key=True, serialize=False)),
                    ],
                    options={
                        "db_table": "custom_fee",
                    },
                ),
                migrations.CreateModel(
                    name="CustomFeeHistory",
                    fields=[
                        (
                            "pk",
                            models.CompositePrimaryKey(
                                "entity_id",
                                "timestamp_range",
                                blank=True,
                                editable=False,
                                primary_key=True,
                                serialize=False,
                            ),
                        ),
                        ("fixed_fees", models.JSONField(null=True)),
                        ("fractional_fees", models.JSONField(null=True)),
                        ("royalty_fees", models.JSONField(null=True)),
                        ("timestamp_range", django.contrib.postgres.fields.ranges.BigIntegerRangeField()),
                        ("entity_id", models.BigIntegerField()),
                    ],
                    options={
                        "verbose_name_plural": "custom fee history",
                        "db_table": "custom_fee_history",
                        "indexes": [
                            mirror.core.db.schema.indexes.GistIndex(
                                fields=["timestamp_range"], name="custom_fee_history__timestamp_range"
                            ),
                            mirror.core.db.schema.indexes.Index(
                                models.F("entity_id"),
                                models.F("timestamp_range__startswith"),
                                name="custom_fee_history__token_id_timestamp_range",
                            ),
                        ],
                    },
                    bases=(mirror.core.db.schema.tables.KeylessTable, models.Model),
                ),
            ]
        )
    ]
