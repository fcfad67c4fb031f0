"""Contents of files."""

from django.db import models

from mirror.db import fields
from mirror.db.indexes import Index
from mirror.values.transaction_types import NUMBERS


class FileData(models.Model):
    """The bytes one transaction put into a file. Written by FILECREATE, FILEUPDATE and FILEAPPEND."""

    file_data = fields.TextBytesField(null=True)
    consensus_timestamp = fields.ConsensusTimestampField(domain="nanos_timestamp", primary_key=True)
    entity_id = fields.EntityIdField(domain="entity_id")
    transaction_type = fields.TransactionTypeField()

    class Meta:
        db_table = "file_data"
        indexes = [
            Index(fields=["entity_id", "consensus_timestamp"], name="file_data__id_timestamp"),
        ]


def content_parts(beginning: str, part: str) -> str:
    """Return the statement for the parts of a file's content, with the time of each.

    The content starts with a create, or with an update that is not empty, and goes on with the appends after
    it. `beginning` has conditions on its first part, `part` on all parts (table `f`). The values are the
    file's id and those of `beginning`, then the file's id and those of `part`.
    """
    # Index: file_data__id_timestamp (entity_id, consensus_timestamp).
    return f"""
        with beginning as (
            select consensus_timestamp from file_data
            where entity_id = %s {beginning} and (transaction_type = {NUMBERS["FILECREATE"]}
                or (transaction_type = {NUMBERS["FILEUPDATE"]} and length(file_data) > 0))
            order by consensus_timestamp desc limit 1
        )
        select f.file_data, f.consensus_timestamp
        from beginning b join file_data f
            on f.entity_id = %s and f.consensus_timestamp >= b.consensus_timestamp {part}
        where f.consensus_timestamp = b.consensus_timestamp or f.transaction_type = {NUMBERS["FILEAPPEND"]}
        order by f.consensus_timestamp
        """
