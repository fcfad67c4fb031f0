"""Tables of few transaction types each: contents of files, live hashes, freezes, pseudorandom numbers."""

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


class LiveHash(models.Model):
    """A hash attached to an account. Written by CRYPTOADDLIVEHASH, which networks no longer accept."""

    livehash = fields.BytesField(null=True)
    consensus_timestamp = fields.ConsensusTimestampField(domain="nanos_timestamp", primary_key=True)

    class Meta:
        db_table = "live_hash"
        verbose_name_plural = "live hashes"


_FREEZE_TYPES = dict(
    enumerate(
        (
            "UNKNOWN_FREEZE_TYPE",
            "FREEZE_ONLY",
            "PREPARE_UPGRADE",
            "FREEZE_UPGRADE",
            "FREEZE_ABORT",
            "TELEMETRY_UPGRADE",
        )
    )
)


class NetworkFreeze(models.Model):
    """One step of a network freeze or upgrade. Written by FREEZE."""

    consensus_timestamp = fields.ConsensusTimestampField(primary_key=True)
    end_time = fields.NanosTimestampField(null=True)
    file_hash = fields.BytesField()
    file_id = fields.EntityIdField(null=True)
    payer_account_id = fields.EntityIdField()
    start_time = fields.NanosTimestampField()
    type = fields.named(models.SmallIntegerField(), _FREEZE_TYPES)

    class Meta:
        db_table = "network_freeze"


class Prng(models.Model):
    """A pseudorandom number, or 48 pseudorandom bytes when `range` is 0. Written by UTILPRNG."""

    consensus_timestamp = fields.ConsensusTimestampField(primary_key=True)
    range = models.IntegerField()
    prng_bytes = fields.BytesField(null=True)
    prng_number = models.IntegerField(null=True)
    payer_account_id = fields.EntityIdField()

    class Meta:
        db_table = "prng"
