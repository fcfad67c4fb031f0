from django.db import migrations, models

from mirror.core.db.schema.operations import CreateModelIfMissing


class Migration(migrations.Migration):
    """The ranges of files that were loaded one after another."""

    atomic = False
    dependencies = [("mirror", "0007_node_minute")]

    operations = [
        CreateModelIfMissing(
            name="LoadedRange",
            fields=[
                ("consensus_start", models.BigIntegerField(primary_key=True, serialize=False)),
                ("consensus_end", models.BigIntegerField()),
                ("first_block", models.BigIntegerField()),
                ("last_block", models.BigIntegerField()),
                ("files", models.BigIntegerField()),
                ("transactions", models.BigIntegerField()),
                ("signed", models.BooleanField(null=True)),
                ("filters", models.JSONField(null=True)),
                (
                    "rests_on",
                    models.CharField(
                        choices=[
                            ("genesis", "Genesis"),
                            ("range", "Range"),
                            ("balances", "Balances"),
                            ("nothing", "Nothing"),
                            ("unknown", "Unknown"),
                        ],
                        max_length=10,
                    ),
                ),
                ("basis", models.TextField(blank=True, default="")),
            ],
            options={"db_table": "loaded_range"},
        ),
    ]
