from django.db import migrations, models

from mirror.core.db.schema.operations import CreateModelIfMissing


class Migration(migrations.Migration):
    """The requests and the loading of each minute, for the charts of the admin."""

    atomic = False
    dependencies = [("mirror", "0006_balance_partitions")]

    operations = [
        CreateModelIfMissing(
            name="NodeMinute",
            fields=[
                ("minute", models.DateTimeField(primary_key=True, serialize=False)),
                ("requests", models.BigIntegerField()),
                ("failures", models.BigIntegerField()),
                ("refused", models.BigIntegerField()),
                ("p50_milliseconds", models.FloatField(null=True)),
                ("p99_milliseconds", models.FloatField(null=True)),
                ("lag_seconds", models.FloatField(null=True)),
                ("transactions", models.BigIntegerField()),
            ],
            options={"db_table": "node_minute"},
        ),
    ]
