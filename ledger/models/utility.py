"""Transactions that leave a single fact behind."""

from django.db import models

from mirror.db.fields import BytesField, NanosTimestampField


class LiveHash(models.Model):
    """A hash attached to an account. Written by CRYPTOADDLIVEHASH, which networks no longer accept."""

    livehash = BytesField(null=True)
    consensus_timestamp = NanosTimestampField(primary_key=True)

    class Meta:
        db_table = "live_hash"
        verbose_name_plural = "live hashes"


class NetworkFreeze(models.Model):
    """One step of a network freeze or upgrade. Written by FREEZE."""

    consensus_timestamp = models.BigIntegerField(primary_key=True)
    end_time = models.BigIntegerField(null=True)
    file_hash = BytesField()
    file_id = models.BigIntegerField(null=True)
    payer_account_id = models.BigIntegerField()
    start_time = models.BigIntegerField()
    type = models.SmallIntegerField()

    class Meta:
        db_table = "network_freeze"


class Prng(models.Model):
    """A pseudorandom number, or 48 pseudorandom bytes when `range` is 0. Written by UTILPRNG."""

    consensus_timestamp = models.BigIntegerField(primary_key=True)
    range = models.IntegerField()
    prng_bytes = BytesField(null=True)
    prng_number = models.IntegerField(null=True)
    payer_account_id = models.BigIntegerField()

    class Meta:
        db_table = "prng"
