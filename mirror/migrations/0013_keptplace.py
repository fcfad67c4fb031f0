from django.db import migrations, models

from mirror.db.operations import CreateModelIfMissing


class Migration(migrations.Migration):
    """Places that files have been kept in."""

    dependencies = [("mirror", "0012_notkept")]

    operations = [
        CreateModelIfMissing(
            name="KeptPlace",
            fields=[
                ("location", models.TextField(primary_key=True, serialize=False)),
                ("since", models.DateTimeField()),
            ],
            options={"db_table": "kept_place"},
        ),
    ]
