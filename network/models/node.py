"""Consensus nodes."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from ledger.models.history import history_of
from mirror.core.db.schema import fields
from mirror.core.db.writing.merge import MergeRule


class Node(models.Model):
    """One consensus node as it is now, as far as transactions stated it.

    Written by NODECREATE, NODEUPDATE and NODEDELETE.
    """

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
