"""Blocks: a record file and its sidecars."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from ledger.stream.block_names import BLOCK_VERSION
from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index
from mirror.core.db.schema.tables import Compared

_ALGORITHMS = {0: "SHA-384"}
# Block nodes send a block without a name and compressed otherwise than it lies in a bucket.
_UNLESS_IN_A_BLOCK = (
    f"case when version < {BLOCK_VERSION} and wrapped_record_block_hash is null then {{}} end"
)


class RecordFile(models.Model):
    """One record file, which is one block. Written once all of its transactions are."""

    compared = Compared(
        "consensus_end",
        without=frozenset({"load_start", "load_end", "bytes"}),
        instead=tuple((column, _UNLESS_IN_A_BLOCK.format(column)) for column in ("name", "size")),
    )

    name = models.CharField(max_length=250)
    load_start = fields.MillisecondsField()
    load_end = fields.MillisecondsField()
    hash = fields.HexField(max_length=96)
    prev_hash = models.CharField(max_length=96)
    consensus_start = fields.ConsensusTimestampField()
    consensus_end = fields.BlockTimestampField(primary_key=True)
    count = fields.NumberField()
    digest_algorithm = fields.named(models.IntegerField(), _ALGORITHMS)
    hapi_version_major = models.IntegerField(null=True)
    hapi_version_minor = models.IntegerField(null=True)
    hapi_version_patch = models.IntegerField(null=True)
    version = models.IntegerField()
    file_hash = models.CharField(max_length=96)
    bytes = fields.BytesField(null=True)
    index = fields.IdentifierField()
    gas_used = fields.named(fields.NumberField(null=True, db_default=-1), {-1: "unknown"})
    logs_bloom = fields.BytesField(null=True)
    size = models.IntegerField(null=True)
    sidecar_count = models.IntegerField(db_default=0)
    software_version_major = models.IntegerField(null=True)
    software_version_minor = models.IntegerField(null=True)
    software_version_patch = models.IntegerField(null=True)
    round_start = fields.IdentifierField(null=True)
    round_end = fields.IdentifierField(null=True)
    previous_wrapped_record_block_hash = fields.HashField(null=True)
    wrapped_record_block_hash = fields.HashField(null=True)
    # The original has this column too, and writes nothing to it.
    receipts_root = fields.HashField(null=True)

    class Meta:
        db_table = "record_file"
        indexes = [
            Index(fields=["hash"], name="record_file__hash"),
            Index(fields=["index"], name="record_file__index"),
        ]


_SIDECAR_TYPES = {1: "CONTRACT_STATE_CHANGE", 2: "CONTRACT_ACTION", 3: "CONTRACT_BYTECODE"}


class SidecarFile(models.Model):
    """One sidecar of a record file: contract state changes, actions or bytecode apart from the records."""

    compared = Compared("consensus_end", without=frozenset({"bytes"}))

    pk = models.CompositePrimaryKey("consensus_end", "id")
    bytes = fields.BytesField(null=True)
    count = models.IntegerField(null=True)
    consensus_end = fields.BlockTimestampField()
    hash_algorithm = fields.named(models.IntegerField(), _ALGORITHMS)
    hash = fields.HashField()
    id = models.IntegerField()
    name = models.CharField(max_length=250)
    size = models.IntegerField(null=True)
    types = ArrayField(fields.named(models.IntegerField(), _SIDECAR_TYPES))

    class Meta:
        db_table = "sidecar_file"
