from django.db import migrations, models

import mirror.core.db.schema.fields
from mirror.core.db.schema.operations import CreateModelIfMissing


class Migration(migrations.Migration):
    """Files that are missing in the place of kept files."""

    dependencies = [("mirror", "0011_loader_block_source")]

    operations = [
        CreateModelIfMissing(
            name="ArchiveFailure",
            fields=[
                (
                    "consensus_end",
                    mirror.core.db.schema.fields.BlockTimestampField(primary_key=True, serialize=False),
                ),
                ("name", models.TextField()),
                ("since", models.DateTimeField()),
                ("reason", models.TextField()),
            ],
            options={"db_table": "archive_failure"},
        ),
    ]
