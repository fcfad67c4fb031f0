"""Custom fees of tokens (HIP-18) and of topics (HIP-991)."""

from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.writing.merge import MergeRule


class CustomFee(models.Model):
    """The custom fees of a token or topic now; null where there are none of a kind.

    Written by TOKENCREATION, TOKENFEESCHEDULEUPDATE, CONSENSUSCREATETOPIC and CONSENSUSUPDATETOPIC.
    """

    merge = MergeRule(
        key=("entity_id",), replaced=frozenset({"fixed_fees", "fractional_fees", "royalty_fees"})
    )

    fixed_fees = fields.CustomFeesField(null=True)
    fractional_fees = fields.CustomFeesField(null=True)
    royalty_fees = fields.CustomFeesField(null=True)
    timestamp_range = fields.ValidityField()
    entity_id = fields.EntityIdField(primary_key=True)

    class Meta:
        db_table = "custom_fee"


CustomFeeHistory = history_of(
    CustomFee,
    "An earlier fee schedule. Written when TOKENFEESCHEDULEUPDATE or CONSENSUSUPDATETOPIC replaces it.",
    by_start="custom_fee_history__token_id_timestamp_range",
)
