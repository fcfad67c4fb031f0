import django.contrib.postgres.fields
from django.db import migrations, models

from mirror.core.db.schema.operations import CreateModelIfMissing


class Migration(migrations.Migration):
    """How much of mainnet's errata is applied."""

    dependencies = [("mirror", "0009_dropped_rows")]

    operations = [
        CreateModelIfMissing(
            name="LoadedErrata",
            fields=[
                ("part", models.TextField(primary_key=True, serialize=False)),
                ("known", models.BigIntegerField(null=True)),
                (
                    "applied",
                    django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None),
                ),
                ("changed", models.DateTimeField()),
            ],
            options={"db_table": "loaded_errata"},
        ),
    ]
