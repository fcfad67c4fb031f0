"""Non-fungible tokens."""

from typing import Any

from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import GistIndex, Index
from mirror.core.db.writing.merge import Change, MergeRule

# As a spender, this keeps the stored spender.
KEEP = 0


class NftRule(MergeRule):
    """The merge rule of serials: a version replaces the spenders unless it has KEEP, and a deleted serial has
    no owner.
    """

    def follow(self, previous: Change, columns: dict[str, Any], since: int) -> Change | None:
        if previous.since == since:
            # Several transfers in one transaction: the last receiver has it.
            previous.columns.update(columns)
            return None
        inherited = previous.columns | columns
        for name in ("delegating_spender", "spender"):
            if columns.get(name) != KEEP:
                inherited[name] = columns.get(name)
            else:
                inherited[name] = previous.columns.get(name)
        previous.until = since
        return Change(inherited, since, columns)


class Nft(models.Model):
    """One serial of a token as it is now, with its owner and spenders.

    Written by TOKENMINT, TOKENBURN, TOKENWIPE, TOKENUPDATENFTS, CRYPTOAPPROVEALLOWANCE, CRYPTODELETEALLOWANCE
    and every transfer of it.
    """

    merge = NftRule(
        key=("token_id", "serial_number"),
        fixed=frozenset({"created_timestamp"}),
        defaults={"deleted": "false"},
        expressions={
            "account_id": "case when s.deleted then null else coalesce(s.account_id, e.account_id) end",
            "delegating_spender": (
                f"case when s.delegating_spender = {KEEP} then e.delegating_spender"
                " else s.delegating_spender end"
            ),
            "spender": f"case when s.spender = {KEEP} then e.spender else s.spender end",
        },
    )

    account_id = fields.EntityIdField(null=True)
    created_timestamp = fields.ConsensusTimestampField(null=True)
    deleted = models.BooleanField(null=True, db_default=False)
    metadata = fields.TextBytesField(null=True)
    serial_number = fields.NumberField()
    token_id = fields.TokenIdField()
    delegating_spender = fields.EntityIdField(null=True)
    spender = fields.EntityIdField(null=True)
    timestamp_range = fields.ValidityField()
    pk = models.CompositePrimaryKey("token_id", "serial_number")

    class Meta:
        db_table = "nft"
        indexes = [
            Index(fields=["account_id", "token_id", "serial_number"], name="nft__account_token_serialnumber"),
            Index(
                fields=["account_id", "spender", "token_id", "serial_number"],
                name="nft__allowance",
                condition=models.Q(account_id__isnull=False, spender__isnull=False),
            ),
        ]


NftHistory = history_of(
    Nft,
    "An earlier version of a serial. Written when a transaction replaces it.",
    GistIndex(fields=["account_id", "timestamp_range"], name="nft_history__account_timestamp_range"),
    by_start="nft_history__token_serial_lower_timestamp",
    by_range=False,
)
