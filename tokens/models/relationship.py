"""Relationships of accounts to tokens, and snapshots of their balances."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import Index
from mirror.core.db.schema.tables import MonthlyPartitions
from mirror.core.db.writing.merge import Change, MergeRule, saturating_sum
from tokens.models.token import FREEZE_STATUS, KYC_STATUS

_BALANCE = saturating_sum("coalesce(e.balance, 0)", "coalesce(s.balance, 0)")


class RelationshipRule(MergeRule):
    """The merge rule of relationships: a version with `created_timestamp` is an association, which takes over
    neither balance nor statuses.
    """

    def fold(self, target: Change, change: Mapping[str, Any]) -> None:
        """Add to the balance. A transfer implies an association, unless its own transaction ends it."""
        columns, at = target.columns, change["balance_timestamp"]
        columns["balance"] = columns.get("balance", 0) + change["balance"]
        columns["balance_timestamp"] = at
        if target.since != at:
            columns["associated"] = True

    def follow(self, previous: Change, columns: dict[str, Any], since: int) -> Change | None:
        if previous.since == since:
            return None  # old records list an association twice
        previous.until = since
        associates = columns.get("created_timestamp") is not None
        return Change(columns if associates else previous.columns | columns, since, columns)


class TokenAccount(models.Model):
    """One account's relationship to one token as it is now: association, balance, freeze and KYC status.

    Written by TOKENASSOCIATE, TOKENDISSOCIATE, TOKENFREEZE, TOKENUNFREEZE, TOKENGRANTKYC, TOKENREVOKEKYC and
    automatic associations; token transfers move `balance`, which starts no new version. A null status is the
    token's own.
    """

    merge = RelationshipRule(
        key=("account_id", "token_id"),
        expressions={
            "balance": (f"case when s.created_timestamp is null then {_BALANCE} else s.balance end"),
            "freeze_status": (
                "case when s.created_timestamp is null then coalesce(s.freeze_status, e.freeze_status)"
                " else s.freeze_status end"
            ),
            "kyc_status": (
                "case when s.created_timestamp is null then coalesce(s.kyc_status, e.kyc_status)"
                " else s.kyc_status end"
            ),
        },
        present="associated",
    )

    account_id = fields.EntityIdField()
    associated = models.BooleanField(db_default=False)
    automatic_association = models.BooleanField(null=True)
    created_timestamp = fields.ConsensusTimestampField(null=True)
    freeze_status = fields.named(models.SmallIntegerField(null=True), FREEZE_STATUS)
    kyc_status = fields.named(models.SmallIntegerField(null=True), KYC_STATUS)
    timestamp_range = fields.ValidityField()
    token_id = fields.TokenIdField()
    balance = fields.TokenAmountField(db_default=0)
    balance_timestamp = fields.ConsensusTimestampField(null=True)
    pk = models.CompositePrimaryKey("account_id", "token_id")

    class Meta:
        db_table = "token_account"
        indexes = [
            Index(fields=["token_id", "account_id"], name="token_account__token_id_account_id"),
            Index(fields=["token_id", "balance", "account_id"], name="token_account__token_balance_account"),
        ]


TokenAccountHistory = history_of(
    TokenAccount,
    "An earlier version of a relationship. Written when a transaction replaces it.",
    by_start="token_account_history__account_token_lower_timestamp",
)


class TokenBalance(MonthlyPartitions, models.Model):
    """One account's balance of one token at one snapshot; later snapshots of a month hold changes only.

    No transaction writes it: snapshots are taken while files are ingested.
    """

    # Computed from other tables, not from one transaction.
    compared = None

    pk = models.CompositePrimaryKey("account_id", "token_id", "consensus_timestamp")
    consensus_timestamp = fields.SnapshotTimestampField()
    account_id = fields.EntityIdField(domain="entity_id")
    balance = fields.TokenAmountField()
    token_id = fields.TokenIdField(domain="entity_id")

    class Meta:
        db_table = "token_balance"
        indexes = [
            Index(
                fields=["token_id", "account_id", "consensus_timestamp"],
                name="token_balance__token_account_timestamp",
            ),
            Index(fields=["token_id", "balance", "account_id"], name="token_balance__token_balance_account"),
        ]
