"""Allowances of hbar."""

from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.writing.merge import MergeRule


class CryptoAllowance(models.Model):
    """The tinybars that `spender` may still take from `owner`.

    Written by CRYPTOAPPROVEALLOWANCE; `amount` falls with every approved transfer, `amount_granted` does not.
    """

    # A grant replaces the amount; approved transfers add to it, silently.
    merge = MergeRule(key=("owner", "spender"), added=frozenset({"amount"}), replaced=frozenset({"amount"}))

    amount_granted = fields.TinybarField()
    owner = fields.EntityIdField()
    payer_account_id = fields.EntityIdField()
    spender = fields.EntityIdField()
    timestamp_range = fields.ValidityField()
    amount = fields.TinybarField(db_default=0)
    pk = models.CompositePrimaryKey("owner", "spender")

    class Meta:
        db_table = "crypto_allowance"


CryptoAllowanceHistory = history_of(
    CryptoAllowance,
    "An earlier grant. Written when CRYPTOAPPROVEALLOWANCE replaces it.",
    by_start="crypto_allowance_history_owner_spender_lower_timestamp",
)
