from django.db import migrations, models

from mirror.core.db.schema.operations import AddFieldIfMissing


class Migration(migrations.Migration):
    """Where a loader has blocks from, and how well the block nodes do."""

    dependencies = [("mirror", "0010_loaded_errata")]

    operations = [
        AddFieldIfMissing(model_name="loaderstate", name="block_source", field=models.JSONField(null=True)),
    ]
