from typing import Any

from django.db import migrations, models

from mirror.core.db.schema.operations import CreateModelIfMissing, column_types

# From its schema 1.125 on the original computes these itself, and doing it twice would be wrong.
_DONE_AT_1_125 = ("contract_allowances", "duplicate_logs", "gone_nodes_rewards", "long_stakes_rewards")
_NAMES = (
    *_DONE_AT_1_125,
    "block_times",
    "ethereum_weibars",
    "message_hashes",
    "synthetic_index",
    "synthetic_logs",
    "transaction_index",
)


def name_backfills(apps: Any, schema_editor: Any) -> None:
    """Add a row for each backfill; those that the original has done itself are finished."""
    is_newest = "receipts_root" in column_types(schema_editor, "record_file")
    with schema_editor.connection.cursor() as cursor:
        for name in _NAMES:
            done = is_newest and name in _DONE_AT_1_125
            cursor.execute(
                "INSERT INTO backfill (name, rows, seconds, finished) "
                "VALUES (%s, 0, 0, CASE WHEN %s THEN now() END) ON CONFLICT DO NOTHING",
                [name, done],
            )


class Migration(migrations.Migration):
    """A row for each backfill, before the tables get the columns of release 0.160.

    Before that the tables still show whether the original has filled the columns already.
    """

    atomic = False
    dependencies = [
        ("mirror", "0003_passedover"),
        ("ledger", "0002_custom_fees"),
        ("contracts", "0001_initial"),
        ("network", "0001_initial"),
    ]

    operations = [
        CreateModelIfMissing(
            name="Backfill",
            fields=[
                ("name", models.TextField(primary_key=True, serialize=False)),
                ("newest", models.BigIntegerField(null=True)),
                ("oldest", models.BigIntegerField(null=True)),
                ("position", models.BigIntegerField(null=True)),
                ("rows", models.BigIntegerField(default=0)),
                ("seconds", models.FloatField(default=0)),
                ("started", models.DateTimeField(null=True)),
                ("finished", models.DateTimeField(null=True)),
            ],
            options={"db_table": "backfill"},
        ),
        migrations.RunPython(name_backfills, migrations.RunPython.noop),
    ]
