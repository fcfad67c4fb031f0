"""Allowances of hbar."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import GistIndex, Index
from mirror.core.db.schema.tables import KeylessTable
from mirror.core.db.writing.merge import MergeRule


class CryptoAllowanceColumns(models.Model):
    """The columns of a version of an hbar allowance."""

    amount_granted = fields.TinybarField()
    owner = fields.EntityIdField()
    payer_account_id = fields.EntityIdField()
    spender = fields.EntityIdField()
    timestamp_range = fields.ValidityField()
    amount = fields.TinybarField(db_default=0)

    class Meta:
        abstract = True


class CryptoAllowance(CryptoAllowanceColumns):
    """The tinybars that `spender` may still take from `owner`.

    Written by CRYPTOAPPROVEALLOWANCE; `amount` falls with every approved transfer, `amount_granted` does not.
    """

    # A grant replaces the amount; approved transfers add to it, silently.
    merge = MergeRule(key=("owner", "spender"), added=frozenset({"amount"}), replaced=frozenset({"amount"}))

    pk = models.CompositePrimaryKey("owner", "spender")

    class Meta:
        db_table = "crypto_allowance"


class CryptoAllowanceHistory(KeylessTable, CryptoAllowanceColumns):
    """An earlier grant. Written when CRYPTOAPPROVEALLOWANCE replaces it."""

    pk = models.CompositePrimaryKey("owner", "spender", "timestamp_range")

    class Meta:
        db_table = "crypto_allowance_history"
        verbose_name_plural = "crypto allowance history"
        indexes = [
            GistIndex(fields=["timestamp_range"], name="crypto_allowance_history__timestamp_range"),
            Index(
                "owner",
                "spender",
                "timestamp_range__startswith",
                name="crypto_allowance_history_owner_spender_lower_timestamp",
            ),
        ]
