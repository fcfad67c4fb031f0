from django.db import migrations, models

import mirror.db.fields
from mirror.db.operations import CreateModelIfMissing


class Migration(migrations.Migration):
    """Files that are missing in the place of kept files."""

    dependencies = [("mirror", "0011_loader_block_source")]

    operations = [
        CreateModelIfMissing(
            name="NotKept",
            fields=[
                ("consensus_end", mirror.db.fields.BlockTimestampField(primary_key=True, serialize=False)),
                ("name", models.TextField()),
                ("since", models.DateTimeField()),
                ("reason", models.TextField()),
            ],
            options={"db_table": "not_kept"},
        ),
    ]
