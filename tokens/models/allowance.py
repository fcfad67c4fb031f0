"""Allowances of tokens and NFTs."""

from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index
from mirror.core.db.writing.merge import MergeRule


class TokenAllowance(models.Model):
    """The amount of a fungible token, in its smallest unit, that `spender` may still take from `owner`.

    Written by CRYPTOAPPROVEALLOWANCE; `amount` falls with every approved transfer, `amount_granted` does not.
    """

    merge = MergeRule(
        key=("owner", "spender", "token_id"), added=frozenset({"amount"}), replaced=frozenset({"amount"})
    )

    amount_granted = fields.TokenAmountField()
    owner = fields.EntityIdField()
    payer_account_id = fields.EntityIdField()
    spender = fields.EntityIdField()
    timestamp_range = fields.ValidityField()
    token_id = fields.TokenIdField()
    amount = fields.TokenAmountField(db_default=0)
    pk = models.CompositePrimaryKey("owner", "spender", "token_id")

    class Meta:
        db_table = "token_allowance"


TokenAllowanceHistory = history_of(
    TokenAllowance,
    "An earlier grant. Written when CRYPTOAPPROVEALLOWANCE replaces it.",
    by_start="token_allowance_history__owner_spender_token_lower_timestamp",
)


class NftAllowance(models.Model):
    """Permission of `spender` to take all serials of `owner`. Written by CRYPTOAPPROVEALLOWANCE."""

    merge = MergeRule(key=("owner", "spender", "token_id"))

    approved_for_all = models.BooleanField()
    owner = fields.EntityIdField()
    payer_account_id = fields.EntityIdField()
    spender = fields.EntityIdField()
    timestamp_range = fields.ValidityField()
    token_id = fields.TokenIdField()
    pk = models.CompositePrimaryKey("owner", "spender", "token_id")

    class Meta:
        db_table = "nft_allowance"
        indexes = [
            Index(fields=["spender", "owner", "token_id"], name="nft_allowance__spender_owner_token"),
        ]


NftAllowanceHistory = history_of(
    NftAllowance,
    "An earlier grant or refusal. Written when CRYPTOAPPROVEALLOWANCE replaces it.",
    by_start="nft_allowance_history__owner_spender_token_lower_timestamp",
)
