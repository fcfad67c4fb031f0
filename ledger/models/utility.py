"""Tables of a single transaction type each: live hashes, freezes, pseudorandom numbers."""

from django.db import models

from mirror.core.db.schema import fields


class LiveHash(models.Model):
    """A hash attached to an account. Written by CRYPTOADDLIVEHASH, which networks no longer accept."""

    livehash = fields.BytesField(null=True)
    consensus_timestamp = fields.ConsensusTimestampField(domain="nanos_timestamp", primary_key=True)

    class Meta:
        db_table = "live_hash"
        verbose_name_plural = "live hashes"


class NetworkFreeze(models.Model):
    """One step of a network freeze or upgrade. Written by FREEZE."""

    consensus_timestamp = fields.ConsensusTimestampField(primary_key=True)
    end_time = fields.NanosTimestampField(null=True)
    file_hash = fields.BytesField()
    file_id = fields.EntityIdField(null=True)
    payer_account_id = fields.EntityIdField()
    start_time = fields.NanosTimestampField()
    type = models.SmallIntegerField()

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
