"""Blocks: a record file and its sidecars."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from mirror.db.fields import BytesField
from mirror.db.indexes import Index
from mirror.db.tables import Compared


class RecordFile(models.Model):
    """One record file, which is one block. Written once all of its transactions are."""

    compared = Compared("consensus_end", without=frozenset({"load_start", "load_end", "node_id", "bytes"}))

    name = models.CharField(max_length=250)
    load_start = models.BigIntegerField()
    load_end = models.BigIntegerField()
    hash = models.CharField(max_length=96)
    prev_hash = models.CharField(max_length=96)
    consensus_start = models.BigIntegerField()
    consensus_end = models.BigIntegerField(primary_key=True)
    count = models.BigIntegerField()
    digest_algorithm = models.IntegerField()
    hapi_version_major = models.IntegerField(null=True)
    hapi_version_minor = models.IntegerField(null=True)
    hapi_version_patch = models.IntegerField(null=True)
    version = models.IntegerField()
    file_hash = models.CharField(max_length=96)
    bytes = BytesField(null=True)
    index = models.BigIntegerField()
    gas_used = models.BigIntegerField(null=True, db_default=-1)
    logs_bloom = BytesField(null=True)
    size = models.IntegerField(null=True)
    sidecar_count = models.IntegerField(db_default=0)
    node_id = models.BigIntegerField()
    software_version_major = models.IntegerField(null=True)
    software_version_minor = models.IntegerField(null=True)
    software_version_patch = models.IntegerField(null=True)
    round_start = models.BigIntegerField(null=True)
    round_end = models.BigIntegerField(null=True)

    class Meta:
        db_table = "record_file"
        indexes = [
            Index(fields=["hash"], name="record_file__hash"),
            Index(fields=["index"], name="record_file__index"),
        ]


class SidecarFile(models.Model):
    """One sidecar of a record file: contract state changes, actions or bytecode apart from the records."""

    compared = Compared("consensus_end", without=frozenset({"bytes"}))

    pk = models.CompositePrimaryKey("consensus_end", "id")
    bytes = BytesField(null=True)
    count = models.IntegerField(null=True)
    consensus_end = models.BigIntegerField()
    hash_algorithm = models.IntegerField()
    hash = BytesField()
    id = models.IntegerField()
    name = models.CharField(max_length=250)
    size = models.IntegerField(null=True)
    types = ArrayField(models.IntegerField())

    class Meta:
        db_table = "sidecar_file"
