"""The ledger's id and the keys that prove its blocks."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.writing.merge import MergeRule


class Ledger(models.Model):
    """One ledger id with the key that proves its history. Written by LEDGERIDPUBLICATION.

    node_contributions: [{"history_proof_key" (base64), "node_id", "weight"}].
    """

    merge = MergeRule(key=("ledger_id",), history=False)

    ledger_id = fields.BytesField(primary_key=True)
    consensus_timestamp = fields.ConsensusTimestampField()
    history_proof_verification_key = fields.BytesField()
    node_contributions = models.JSONField()

    class Meta:
        db_table = "ledger"
