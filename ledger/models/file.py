"""Contents of files."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index


class FileData(models.Model):
    """The bytes one transaction put into a file. Written by FILECREATE, FILEUPDATE and FILEAPPEND."""

    # Work at barriers looks for the rows that are stored by then.
    written_in_order = True

    file_data = fields.TextBytesField(null=True)
    consensus_timestamp = fields.ConsensusTimestampField(domain="nanos_timestamp", primary_key=True)
    entity_id = fields.EntityIdField(domain="entity_id")
    transaction_type = fields.TransactionTypeField()

    class Meta:
        db_table = "file_data"
        indexes = [
            Index(fields=["entity_id", "consensus_timestamp"], name="file_data__id_timestamp"),
        ]
