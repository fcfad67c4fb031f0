"""Contents of files."""

from django.db import models

from mirror.db.fields import BytesField, EntityIdField, NanosTimestampField
from mirror.db.indexes import Index


class FileData(models.Model):
    """The bytes one transaction put into a file. Written by FILECREATE, FILEUPDATE and FILEAPPEND."""

    file_data = BytesField(null=True)
    consensus_timestamp = NanosTimestampField(primary_key=True)
    entity_id = EntityIdField()
    transaction_type = models.SmallIntegerField()

    class Meta:
        db_table = "file_data"
        indexes = [
            Index(fields=["entity_id", "consensus_timestamp"], name="file_data__id_timestamp"),
        ]
