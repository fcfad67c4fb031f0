"""Custom fees of tokens (HIP-18) and of topics (HIP-991)."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import GistIndex, Index
from mirror.core.db.schema.tables import KeylessTable
from mirror.core.db.writing.merge import MergeRule


class CustomFeeColumns(models.Model):
    """The columns of a version of a fee schedule, besides its owner."""

    fixed_fees = models.JSONField(null=True)
    fractional_fees = models.JSONField(null=True)
    royalty_fees = models.JSONField(null=True)
    timestamp_range = fields.ValidityField()

    class Meta:
        abstract = True


class CustomFee(CustomFeeColumns):
    """The custom fees of a token or topic now; null where there are none of a kind.

    Written by TOKENCREATION, TOKENFEESCHEDULEUPDATE, CONSENSUSCREATETOPIC and CONSENSUSUPDATETOPIC.
    """

    merge = MergeRule(
        key=("entity_id",), replaced=frozenset({"fixed_fees", "fractional_fees", "royalty_fees"})
    )

    entity_id = fields.EntityIdField(primary_key=True)

    class Meta:
        db_table = "custom_fee"


class CustomFeeHistory(KeylessTable, CustomFeeColumns):
    """An earlier fee schedule. Written when TOKENFEESCHEDULEUPDATE or CONSENSUSUPDATETOPIC replaces it."""

    pk = models.CompositePrimaryKey("entity_id", "timestamp_range")
    entity_id = fields.EntityIdField()

    class Meta:
        db_table = "custom_fee_history"
        verbose_name_plural = "custom fee history"
        indexes = [
            GistIndex(fields=["timestamp_range"], name="custom_fee_history__timestamp_range"),
            Index(
                "entity_id",
                "timestamp_range__startswith",
                name="custom_fee_history__token_id_timestamp_range",
            ),
        ]
