from django.db import migrations, models

from mirror.core.db.schema.operations import CreateModelIfMissing


class Migration(migrations.Migration):
    """Places that files have been kept in."""

    dependencies = [("mirror", "0012_notkept")]

    operations = [
        CreateModelIfMissing(
            name="ArchiveLocation",
            fields=[
                ("location", models.TextField(primary_key=True, serialize=False)),
                ("since", models.DateTimeField()),
            ],
            options={"db_table": "archive_location"},
        ),
    ]
