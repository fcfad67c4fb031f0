"""Allowances of tokens and NFTs."""

from django.db import models

from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import GistIndex, Index
from mirror.core.db.schema.tables import KeylessTable
from mirror.core.db.writing.merge import MergeRule


class TokenAllowanceColumns(models.Model):
    """The columns of a version of a token allowance."""

    amount_granted = fields.NumberField()
    owner = fields.EntityIdField()
    payer_account_id = fields.EntityIdField()
    spender = fields.EntityIdField()
    timestamp_range = fields.ValidityField()
    token_id = fields.TokenIdField()
    amount = fields.NumberField(db_default=0)

    class Meta:
        abstract = True


class TokenAllowance(TokenAllowanceColumns):
    """The amount of a fungible token, in its smallest unit, that `spender` may still take from `owner`.

    Written by CRYPTOAPPROVEALLOWANCE; `amount` falls with every approved transfer, `amount_granted` does not.
    """

    merge = MergeRule(
        key=("owner", "spender", "token_id"), added=frozenset({"amount"}), replaced=frozenset({"amount"})
    )

    pk = models.CompositePrimaryKey("owner", "spender", "token_id")

    class Meta:
        db_table = "token_allowance"


class TokenAllowanceHistory(KeylessTable, TokenAllowanceColumns):
    """An earlier grant. Written when CRYPTOAPPROVEALLOWANCE replaces it."""

    pk = models.CompositePrimaryKey("owner", "spender", "token_id", "timestamp_range")

    class Meta:
        db_table = "token_allowance_history"
        verbose_name_plural = "token allowance history"
        indexes = [
            Index(
                "owner",
                "spender",
                "token_id",
                "timestamp_range__startswith",
                name="token_allowance_history__owner_spender_token_lower_timestamp",
            ),
            GistIndex(fields=["timestamp_range"], name="token_allowance_history__timestamp_range"),
        ]


class NftAllowanceColumns(models.Model):
    """The columns of a version of an allowance for all serials."""

    approved_for_all = models.BooleanField()
    owner = fields.EntityIdField()
    payer_account_id = fields.EntityIdField()
    spender = fields.EntityIdField()
    timestamp_range = fields.ValidityField()
    token_id = fields.TokenIdField()

    class Meta:
        abstract = True


class NftAllowance(NftAllowanceColumns):
    """Permission of `spender` to take all serials of `owner`. Written by CRYPTOAPPROVEALLOWANCE."""

    merge = MergeRule(key=("owner", "spender", "token_id"))

    pk = models.CompositePrimaryKey("owner", "spender", "token_id")

    class Meta:
        db_table = "nft_allowance"
        indexes = [
            Index(fields=["spender", "owner", "token_id"], name="nft_allowance__spender_owner_token"),
        ]


class NftAllowanceHistory(KeylessTable, NftAllowanceColumns):
    """An earlier grant or refusal. Written when CRYPTOAPPROVEALLOWANCE replaces it."""

    pk = models.CompositePrimaryKey("owner", "spender", "token_id", "timestamp_range")

    class Meta:
        db_table = "nft_allowance_history"
        verbose_name_plural = "nft allowance history"
        indexes = [
            Index(
                "owner",
                "spender",
                "token_id",
                "timestamp_range__startswith",
                name="nft_allowance_history__owner_spender_token_lower_timestamp",
            ),
            GistIndex(fields=["timestamp_range"], name="nft_allowance_history__timestamp_range"),
        ]
