"""The tables of the network itself: address books, nodes, stakes, the ledger's id."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import GinIndex, Index
from mirror.core.db.schema.tables import KeylessTable
from mirror.core.db.writing.merge import MergeRule


class AddressBook(models.Model):
    """One version of the file 0.0.101 or 0.0.102. Written by the FILE... transaction that completes it."""

    # Computed from other tables, not from one transaction.
    compared = None

    start_consensus_timestamp = fields.AddressBookTimestampField(domain="nanos_timestamp", primary_key=True)
    end_consensus_timestamp = fields.NanosTimestampField(domain="nanos_timestamp", null=True)
    file_id = fields.EntityIdField(domain="entity_id")
    node_count = models.IntegerField(null=True)
    file_data = fields.TextBytesField()

    class Meta:
        db_table = "address_book"


class AddressBookEntry(models.Model):
    """One node of an address book. Written with address_book."""

    # Computed from other tables, not from one transaction.
    compared = None

    pk = models.CompositePrimaryKey("consensus_timestamp", "node_id")
    consensus_timestamp = fields.AddressBookTimestampField(domain="nanos_timestamp")
    memo = models.CharField(max_length=128, null=True)
    public_key = models.CharField(max_length=1024, null=True)
    node_id = fields.IdentifierField()
    node_account_id = fields.EntityIdField(domain="entity_id")
    node_cert_hash = fields.TextBytesField(null=True)
    description = models.CharField(max_length=100, null=True)
    stake = fields.TinybarField(null=True)

    class Meta:
        db_table = "address_book_entry"
        verbose_name_plural = "address book entries"
        indexes = [
            Index(fields=["consensus_timestamp"], name="address_book_entry__timestamp"),
        ]


class AddressBookServiceEndpoint(KeylessTable, models.Model):
    """One address of a node; a missing IP address or domain name is empty. Written with address_book."""

    # Computed from other tables, not from one transaction.
    compared = None

    pk = models.CompositePrimaryKey("consensus_timestamp", "node_id", "ip_address_v4", "domain_name", "port")
    consensus_timestamp = fields.AddressBookTimestampField()
    ip_address_v4 = models.CharField(max_length=15, db_default="")
    node_id = fields.IdentifierField()
    port = models.IntegerField()
    domain_name = models.CharField(max_length=253, db_default="")

    class Meta:
        db_table = "address_book_service_endpoint"
        indexes = [
            Index(
                fields=["consensus_timestamp", "node_id"],
                name="address_book_service_endpoint__timestamp_node_id",
            ),
        ]


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


class Node(models.Model):
    """One consensus node as it is now. Written by NODECREATE, NODEUPDATE and NODEDELETE."""

    merge = MergeRule(
        key=("node_id",),
        fixed=frozenset({"created_timestamp"}),
        defaults={"decline_reward": "false"},
        expressions={
            # A port of -1 means that the node no longer has the endpoint.
            "grpc_proxy_endpoint": (
                "case when s.grpc_proxy_endpoint ->> 'port' = '-1' then null"
                " else coalesce(s.grpc_proxy_endpoint, e.grpc_proxy_endpoint) end"
            ),
        },
    )

    admin_key = fields.KeyField(null=True)
    created_timestamp = fields.ConsensusTimestampField(null=True)
    deleted = models.BooleanField(db_default=False)
    timestamp_range = fields.ValidityField()
    decline_reward = models.BooleanField(db_default=False)
    grpc_proxy_endpoint = models.JSONField(null=True)
    account_id = fields.EntityIdField(null=True)
    associated_registered_nodes = ArrayField(fields.IdentifierField(), null=True)
    node_id = fields.IdentifierField(primary_key=True)

    class Meta:
        db_table = "node"


NodeHistory = history_of(
    Node,
    "An earlier version of a node. Written when NODEUPDATE or NODEDELETE replaces it.",
    by_start="node_history__node_id_lower_timestamp",
    by_range=False,
)


class EndpointKind(models.IntegerChoices):
    """The kind of an endpoint of a registered node, as in the column `type`."""

    UNKNOWN = 0
    BLOCK_NODE = 1
    GENERAL_SERVICE = 2
    MIRROR_NODE = 3
    RPC_RELAY = 4


class RegisteredNode(models.Model):
    """One registered node (HIP-1137) as it is now. Written by the REGISTEREDNODE... transactions."""

    merge = MergeRule(
        key=("registered_node_id",),
        fixed=frozenset({"created_timestamp"}),
        defaults={"type": "'{}'"},
    )

    admin_key = fields.KeyField(null=True)
    created_timestamp = fields.ConsensusTimestampField(null=True)
    deleted = models.BooleanField(db_default=False)
    description = models.CharField(max_length=100, null=True)
    service_endpoints = models.JSONField(null=True)
    timestamp_range = fields.ValidityField()
    type = ArrayField(
        fields.named(models.SmallIntegerField(), {kind.value: kind.name for kind in EndpointKind}),
        db_default=[],
    )
    registered_node_id = fields.IdentifierField(primary_key=True)

    class Meta:
        db_table = "registered_node"
        indexes = [
            GinIndex(fields=["type"], condition=models.Q(deleted__is=False), name="registered_node__type"),
        ]


RegisteredNodeHistory = history_of(
    RegisteredNode,
    "An earlier version of a registered node. Written when an update or a deletion replaces it.",
    by_start="registered_node_history__node_id_lower_timestamp",
    by_range=False,
)


# Stakes in tinybars, rates in tinybars per hbar.


class NetworkStake(models.Model):
    """The network's stake and rewards in one staking period. Written by NODESTAKEUPDATE."""

    consensus_timestamp = fields.ConsensusTimestampField(primary_key=True)
    epoch_day = fields.EpochDayField()
    max_staking_reward_rate_per_hbar = fields.TinybarField()
    node_reward_fee_denominator = fields.NumberField()
    node_reward_fee_numerator = fields.NumberField()
    stake_total = fields.TinybarField()
    staking_period = fields.NanosTimestampField()
    staking_period_duration = fields.MinutesField()
    staking_periods_stored = fields.NumberField()
    staking_reward_fee_denominator = fields.NumberField()
    staking_reward_fee_numerator = fields.NumberField()
    staking_reward_rate = fields.TinybarField()
    staking_start_threshold = fields.TinybarField()
    max_stake_rewarded = fields.TinybarField(db_default=0)
    max_total_reward = fields.TinybarField(db_default=0)
    reserved_staking_rewards = fields.TinybarField(db_default=0)
    reward_balance_threshold = fields.TinybarField(db_default=0)
    unreserved_staking_reward_balance = fields.TinybarField(db_default=0)

    class Meta:
        db_table = "network_stake"


class NodeStake(models.Model):
    """One node's stake in one staking period. Written by NODESTAKEUPDATE."""

    # Work at barriers looks for the rows that are stored by then.
    written_in_order = True

    pk = models.CompositePrimaryKey("consensus_timestamp", "node_id")
    consensus_timestamp = fields.ConsensusTimestampField()
    epoch_day = fields.EpochDayField()
    node_id = fields.IdentifierField()
    reward_rate = fields.TinybarField()
    stake = fields.TinybarField()
    stake_rewarded = fields.TinybarField()
    staking_period = fields.NanosTimestampField()
    max_stake = fields.TinybarField()
    min_stake = fields.TinybarField()
    stake_not_rewarded = fields.TinybarField()

    class Meta:
        db_table = "node_stake"
        indexes = [
            Index(fields=["epoch_day"], name="node_stake__epoch_day"),
        ]
