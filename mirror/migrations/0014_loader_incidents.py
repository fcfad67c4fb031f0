from django.db import migrations, models

from mirror.core.db.schema.operations import AddFieldIfMissing


class Migration(migrations.Migration):
    """What has failed or was slow at a loader's source."""

    dependencies = [("mirror", "0013_keptplace")]

    operations = [
        AddFieldIfMissing(model_name="loaderstate", name="incidents", field=models.JSONField(null=True)),
    ]
