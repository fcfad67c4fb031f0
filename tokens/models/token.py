"""Tokens."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.schema.enums import TokenPauseStatus, TokenSupplyType, TokenType
from mirror.core.db.schema.indexes import GinIndex, Index
from mirror.core.db.writing.merge import Change, MergeRule, saturating_sum

FREEZE_STATUS = dict(enumerate(("NOT_APPLICABLE", "FROZEN", "UNFROZEN")))
KYC_STATUS = dict(enumerate(("NOT_APPLICABLE", "GRANTED", "REVOKED")))

_SUPPLY = saturating_sum("e.total_supply", "s.total_supply")


class TokenRule(MergeRule):
    """The merge rule of tokens: a silent `total_supply` is the new supply, or if negative its fall."""

    def fold(self, target: Change, change: Mapping[str, Any]) -> None:
        supply, known = change["total_supply"], target.columns.get("total_supply")
        if supply < 0 and known is not None:
            supply = max(known + supply, 0) if known >= 0 else known + supply
        target.columns["total_supply"] = supply


class Token(models.Model):
    """One token as it is now; what it shares with other entities is in entity.

    Written by TOKENCREATION, TOKENUPDATE, TOKENPAUSE, TOKENUNPAUSE and TOKENDELETION; mint, burn and wipe
    move `total_supply`, which starts no new version. Amounts in the token's smallest unit.
    """

    merge = TokenRule(
        key=("token_id",),
        fixed=frozenset(
            {
                "created_timestamp",
                "decimals",
                "freeze_default",
                "freeze_status",
                "initial_supply",
                "kyc_status",
                "max_supply",
                "supply_type",
                "type",
            }
        ),
        expressions={
            "total_supply": (
                f"case when s.total_supply < 0 then greatest({_SUPPLY}, 0)"
                " else coalesce(s.total_supply, e.total_supply) end"
            )
        },
        required="created_timestamp",
    )

    created_timestamp = fields.ConsensusTimestampField()
    decimals = fields.NumberField()
    freeze_default = models.BooleanField(db_default=False)
    freeze_key = fields.KeyField(null=True)
    initial_supply = fields.TokenAmountField()
    kyc_key = fields.KeyField(null=True)
    name = models.CharField(max_length=100)
    supply_key = fields.KeyField(null=True)
    symbol = models.CharField(max_length=100)
    total_supply = fields.TokenAmountField(db_default=0)
    treasury_account_id = fields.EntityIdField(domain="entity_id")
    wipe_key = fields.KeyField(null=True)
    max_supply = fields.named(fields.TokenAmountField(db_default=9223372036854775807), {0: "infinite"})
    supply_type = fields.EnumField(
        "token_supply_type", choices=TokenSupplyType, db_default=TokenSupplyType.INFINITE
    )
    type = fields.EnumField("token_type", choices=TokenType, db_default=TokenType.FUNGIBLE_COMMON)
    fee_schedule_key = fields.KeyField(null=True)
    pause_key = fields.KeyField(null=True)
    pause_status = fields.EnumField(
        "token_pause_status", choices=TokenPauseStatus, db_default=TokenPauseStatus.NOT_APPLICABLE
    )
    timestamp_range = fields.ValidityField()
    freeze_status = fields.named(models.SmallIntegerField(), FREEZE_STATUS)
    kyc_status = fields.named(models.SmallIntegerField(), KYC_STATUS)
    metadata = fields.TextBytesField(null=True)
    metadata_key = fields.KeyField(null=True)
    token_id = fields.TokenIdField(domain="entity_id", primary_key=True)

    class Meta:
        db_table = "token"
        indexes = [
            GinIndex(fields=["name"], name="token__name", opclasses=["gin_trgm_ops"]),
            Index(fields=["type", "token_id"], name="token__type_id"),
            Index(fields=["symbol", "token_id"], name="token__symbol"),
        ]


TokenHistory = history_of(
    Token,
    "An earlier version of a token. Written when a transaction replaces it.",
    by_start="token_history__token_id_timestamp_range",
)
