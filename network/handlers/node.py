"""Consensus nodes (HIP-869): created, updated, deleted.

Their addresses, certificates and descriptions are in the address book, which the network derives from the
same transactions.
"""

from typing import Any

from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles, names_entities
from ledger.stream.record_item import RecordItem
from mirror.core.values import entity_id
from network.handlers.address_book import ip_address
from network.models import Node

# This port means that the node no longer has the endpoint (see the merge rule of Node).
NO_ENDPOINT = -1


names_entities(
    entity_id.from_account,
    NODECREATE="body.nodeCreate.account_id",
    NODEUPDATE="body.nodeUpdate.account_id",
)


@handles("NODECREATE")
def node_create(item: RecordItem, batch: Batch) -> None:
    """Create a node. Source: body.nodeCreate, receipt.node_id. Rows: node version."""
    # BODY
    body, timestamp = item.body.nodeCreate, item.consensus_timestamp
    columns = _columns(item, batch, body)
    # ROWS
    batch.upsert(
        Node,
        since=timestamp,
        node_id=item.record.receipt.node_id,
        created_timestamp=timestamp,
        associated_registered_nodes=list(body.associated_registered_node),
        decline_reward=body.decline_reward,
        deleted=False,
        **columns,
    )


@handles("NODEUPDATE")
def node_update(item: RecordItem, batch: Batch) -> None:
    """Change what the body sets of a node. Source: body.nodeUpdate. Rows: node version.

    The network itself sends updates, with a nonce, of nodes that are older than these transactions.
    """
    # BODY
    body, timestamp = item.body.nodeUpdate, item.consensus_timestamp
    columns = _columns(item, batch, body)
    if body.HasField("associated_registered_node_list"):
        associated = body.associated_registered_node_list.associated_registered_node
        columns["associated_registered_nodes"] = list(associated)
    if body.HasField("decline_reward"):
        columns["decline_reward"] = body.decline_reward.value
    if item.nonce > 0:
        columns["created_timestamp"] = timestamp
    # ROWS
    batch.upsert(Node, since=timestamp, node_id=body.node_id, deleted=False, **columns)


@handles("NODEDELETE")
def node_delete(item: RecordItem, batch: Batch) -> None:
    """Delete a node. Source: body.nodeDelete. Rows: node version."""
    batch.upsert(Node, since=item.consensus_timestamp, node_id=item.body.nodeDelete.node_id, deleted=True)


def _columns(item: RecordItem, batch: Batch, body: Any) -> dict[str, Any]:
    columns: dict[str, Any] = {}
    if body.HasField("account_id"):
        columns["account_id"] = batch.account(item, body.account_id, "account of a node") or None
    if body.HasField("admin_key"):
        columns["admin_key"] = body.admin_key.SerializeToString()
    if body.HasField("grpc_proxy_endpoint"):
        endpoint = body.grpc_proxy_endpoint
        columns["grpc_proxy_endpoint"] = {
            "domain_name": endpoint.domain_name,
            "ip_address_v4": ip_address(endpoint.ipAddressV4),
            "port": endpoint.port if endpoint.ByteSize() else NO_ENDPOINT,
        }
    return columns
