"""Entities: everything with an id, their stakes, and the transactions they took part in."""

from collections.abc import Mapping
from typing import Any

from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.schema.enums import EntityType
from mirror.core.db.schema.indexes import Index
from mirror.core.db.schema.tables import PartitionableTable
from mirror.core.db.writing.merge import Change, MergeRule, saturating_sum

# Id, balance and its timestamp.
_COLUMNS_OF_MOVE = 3


class EntityRule(MergeRule):
    """The merge rule of entities, whose versions in a batch remember what a stored row would show.

    Accounts start with nonce 0, and an account that becomes a contract retains it. Transfers of an entity of
    unknown type, which has no balance, do not count once the type is known. Those in the same file before the
    version that creates the entity count, unless the entity is stored already.
    """

    def fold(self, target: Change, change: Mapping[str, Any]) -> None:
        """Apply a silent change; one of a balance, the most frequent, without the general loop."""
        amount = change.get("balance")
        if amount is None or len(change) != _COLUMNS_OF_MOVE or "balance_timestamp" not in change:
            super().fold(target, change)
            return
        columns = target.columns
        balance = columns.get("balance")
        columns["balance"] = amount if balance is None else balance + amount
        columns["balance_timestamp"] = change["balance_timestamp"]
        if target.since is not None:
            target.own_columns.update(("balance", "balance_timestamp"))

    def carry(self, columns: dict[str, Any], before: Mapping[str, Any]) -> None:
        """Let a transfer before the creation of an entity, such as its parent's, set its balance's time."""
        super().carry(columns, before)
        columns["stated_balance_timestamp"] = columns.pop("balance_timestamp", None)

    def follow(self, previous: Change, columns: dict[str, Any], since: int) -> Change | None:
        change = super().follow(previous, columns, since)
        if change:
            known = previous.columns.get("type")
            if known == "ACCOUNT":
                change.columns["was_account"] = True
            elif known is None and columns.get("type"):
                change.columns["untyped_balance"] = previous.columns.get("balance")
                change.columns.pop("first_balance", None)
        return change


def _balance(entity_type: str, balance: str, change: str) -> str:
    """Return SQL of the new balance; an entity without one gets one only if it is an account or contract."""
    total = saturating_sum(f"coalesce({balance}, 0)", f"coalesce({change}, 0)")
    return f"case when {entity_type} in ('ACCOUNT', 'CONTRACT') or {balance} is not null then {total} end"


class Entity(models.Model):
    """One account, contract, file, topic, token or schedule as it is now.

    Written by every transaction that creates, updates or deletes one; balance and nonce also move by
    transfers and contract calls, which start no new version.
    """

    merge = EntityRule(
        key=("id",),
        carried={
            "balance": "first_balance",
            "balance_timestamp": "first_balance_timestamp",
            "ethereum_nonce": "first_nonce",
        },
        staged_only={
            "was_account": "boolean",
            "untyped_balance": "int8",
            "first_balance": "int8",
            "first_balance_timestamp": "int8",
            "stated_balance_timestamp": "int8",
            "first_nonce": "int8",
        },
        fixed=frozenset({"alias", "created_timestamp", "evm_address", "num", "realm", "shard"}),
        added=frozenset({"balance"}),
        running_sum=("balance", "balance_timestamp"),
        defaults={
            "decline_reward": "false",
            "memo": "''",
            "stake_period_start": "-1",
            "staked_node_id": "-1",
            "type": "'UNKNOWN'",
        },
        expressions={
            "num": "s.id & 274877906943",
            "realm": "(s.id >> 38) & 65535",
            "shard": "(s.id >> 54) & 1023",
            "balance": _balance(
                "coalesce(s.type, e.type)",
                f"({_balance('e.type', 'e.balance', 's.untyped_balance')})",
                "(coalesce(s.balance, 0) - coalesce(s.untyped_balance, 0)"
                " + case when e.id is null then coalesce(s.first_balance, 0) else 0 end)",
            ),
            "balance_timestamp": (
                "coalesce(s.balance_timestamp, case when e.id is null then s.first_balance_timestamp end,"
                " s.stated_balance_timestamp, e.balance_timestamp)"
            ),
            "ethereum_nonce": (
                "coalesce(s.ethereum_nonce, e.ethereum_nonce,"
                " case when e.id is null then s.first_nonce end,"
                " case when coalesce(s.type, e.type) = 'ACCOUNT' or s.was_account then 0 end)"
            ),
            # An empty text means that the new key is not a single public key.
            "public_key": "nullif(coalesce(s.public_key, e.public_key), '')",
        },
    )

    auto_renew_account_id = fields.EntityIdField(null=True)
    auto_renew_period = fields.SecondsField(null=True)
    created_timestamp = fields.ConsensusTimestampField(null=True)
    deleted = models.BooleanField(null=True)
    expiration_timestamp = fields.NanosTimestampField(null=True)
    key = fields.KeyField(null=True)
    memo = models.TextField(db_default="")
    num = fields.IdentifierField()
    public_key = fields.HexField(null=True)
    proxy_account_id = fields.EntityIdField(null=True)
    realm = fields.IdentifierField()
    shard = fields.IdentifierField()
    receiver_sig_required = models.BooleanField(null=True)
    max_automatic_token_associations = fields.named(models.IntegerField(null=True), {-1: "unlimited"})
    timestamp_range = fields.ValidityField()
    type = fields.EnumField("entity_type", choices=EntityType, db_default=EntityType.UNKNOWN)
    alias = fields.AliasField(null=True)
    ethereum_nonce = fields.NumberField(null=True, db_default=0)
    evm_address = fields.BytesField(null=True)
    decline_reward = models.BooleanField(db_default=False)
    staked_account_id = fields.EntityIdField(null=True)
    staked_node_id = fields.named(fields.IdentifierField(null=True, db_default=-1), {-1: "none"})
    stake_period_start = fields.EpochDayField(null=True, db_default=-1)
    obtainer_id = fields.EntityIdField(null=True)
    permanent_removal = models.BooleanField(null=True)
    balance = fields.TinybarField(null=True)
    balance_timestamp = fields.ConsensusTimestampField(null=True)
    delegation_address = fields.BytesField(null=True)
    id = fields.EntityIdField(primary_key=True)

    class Meta:
        db_table = "entity"
        verbose_name_plural = "entities"
        indexes = [
            Index(fields=["alias"], name="entity__alias", condition=models.Q(alias__isnull=False)),
            Index(
                fields=["evm_address"],
                name="entity__evm_address",
                condition=models.Q(evm_address__isnull=False),
            ),
            Index(
                fields=["public_key", "type", "id"],
                name="entity__public_key_type_id",
                condition=models.Q(public_key__isnull=False),
            ),
            Index(fields=["type", "id"], name="entity__type_id"),
            Index(
                fields=["balance", "id"],
                name="entity__balance",
                condition=models.Q(type__in=["ACCOUNT", "CONTRACT"]),
            ),
        ]


EntityHistory = history_of(
    Entity,
    "One past version of an entity, over the time it was valid. Written when a transaction replaces it.",
    Index(fields=["alias"], name="entity_history__alias", condition=models.Q(alias__isnull=False)),
    Index(
        fields=["evm_address"],
        name="entity_history__evm_address",
        condition=models.Q(evm_address__isnull=False),
    ),
    by_start="entity_history__id_lower_timestamp",
)


class EntityStake(models.Model):
    """An account's stake and pending reward as of the last finished staking period.

    Written once per staking period, after NODESTAKEUPDATE.
    """

    end_stake_period = fields.EpochDayField()
    pending_reward = fields.TinybarField()
    staked_node_id_start = fields.named(fields.IdentifierField(), {-1: "none"})
    staked_to_me = fields.TinybarField()
    stake_total_start = fields.TinybarField()
    timestamp_range = fields.ValidityField()
    id = fields.EntityIdField(primary_key=True)

    class Meta:
        db_table = "entity_stake"


EntityStakeHistory = history_of(
    EntityStake,
    "An account's stake in an earlier staking period. Written when NODESTAKEUPDATE ends the next one.",
    by_start="entity_stake_history__id_lower_timestamp",
)


class EntityTransaction(PartitionableTable, models.Model):
    """One entity's part in one transaction, whatever the part was.

    Written by every transaction, if the setting says so.
    """

    pk = models.CompositePrimaryKey("entity_id", "consensus_timestamp")
    consensus_timestamp = fields.ConsensusTimestampField()
    entity_id = fields.EntityIdField()
    payer_account_id = fields.EntityIdField()
    result = fields.TransactionResultField()
    type = fields.TransactionTypeField()

    class Meta:
        db_table = "entity_transaction"
        indexes = [Index(fields=["consensus_timestamp"], name="entity_transaction__consensus_timestamp")]
