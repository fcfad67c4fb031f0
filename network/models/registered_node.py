"""Registered nodes (HIP-1137): block nodes, mirror nodes, relays and other services of the network."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.schema.indexes import GinIndex
from mirror.core.db.writing.merge import MergeRule


class Kind(models.IntegerChoices):
    """The kind of an endpoint of a registered node, as in the column `type`."""

    UNKNOWN = 0
    BLOCK_NODE = 1
    GENERAL_SERVICE = 2
    MIRROR_NODE = 3
    RPC_RELAY = 4


class RegisteredNode(models.Model):
    """One registered node as it is now.

    Written by REGISTEREDNODECREATE, REGISTEREDNODEUPDATE and REGISTEREDNODEDELETE.
    """

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
        fields.named(models.SmallIntegerField(), {kind.value: kind.name for kind in Kind}), db_default=[]
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
