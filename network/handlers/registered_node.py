"""Registered nodes (HIP-1137): created, updated, deleted."""

from ipaddress import IPv4Address, ip_address
from typing import Any

from ledger.handlers.columns import serialized, text
from ledger.ingest.rows.batch import Batch
from ledger.ingest.rows.registry import handles
from ledger.stream.record_item import RecordItem
from mirror.core.values.hapi.messages import RegisteredServiceEndpoint
from network.models import EndpointKind, RegisteredNode

_BLOCK_NODE_APIS = {
    number: name for name, number in RegisteredServiceEndpoint.BlockNodeEndpoint.BlockNodeApi.items()
}
_ADDRESS_LENGTHS = (4, 16)

_MAX_ID = (1 << 63) - 1


@handles("REGISTEREDNODECREATE")
def registered_node_create(item: RecordItem, batch: Batch) -> None:
    """Create a registered node. Source: body.registeredNodeCreate, receipt.registered_node_id.

    Rows: registered_node version.
    """
    # BODY
    body, timestamp = item.body.registeredNodeCreate, item.consensus_timestamp
    registered_node_id = item.record.receipt.registered_node_id
    if registered_node_id > _MAX_ID:
        batch.recoverable(item, f"no registered node has the id {registered_node_id - (1 << 64)}")
        return
    # ROWS
    batch.upsert(
        RegisteredNode,
        since=timestamp,
        registered_node_id=registered_node_id,
        created_timestamp=timestamp,
        deleted=False,
        description=text(body.description),
        **serialized(body, admin_key="admin_key"),
        **_endpoints(body.service_endpoint),
    )


@handles("REGISTEREDNODEUPDATE")
def registered_node_update(item: RecordItem, batch: Batch) -> None:
    """Change what the body sets of a registered node; endpoints replace all that it had.

    Source: body.registeredNodeUpdate. Rows: registered_node version.
    """
    # BODY
    body = item.body.registeredNodeUpdate
    columns = serialized(body, admin_key="admin_key")
    if body.HasField("description"):
        columns["description"] = text(body.description.value)
    if body.service_endpoint:
        columns |= _endpoints(body.service_endpoint)
    # ROWS
    batch.upsert(
        RegisteredNode,
        since=item.consensus_timestamp,
        registered_node_id=body.registered_node_id,
        deleted=False,
        **columns,
    )


@handles("REGISTEREDNODEDELETE")
def registered_node_delete(item: RecordItem, batch: Batch) -> None:
    """Delete a registered node. Source: body.registeredNodeDelete. Rows: registered_node version."""
    batch.upsert(
        RegisteredNode,
        since=item.consensus_timestamp,
        registered_node_id=item.body.registeredNodeDelete.registered_node_id,
        deleted=True,
    )


def _endpoints(endpoints: Any) -> dict[str, Any]:
    """Return the columns `service_endpoints` and `type`, which has each of their kinds once, in order."""
    kinds = {_kind(endpoint).value for endpoint in endpoints}
    return {"service_endpoints": [_endpoint(endpoint) for endpoint in endpoints], "type": sorted(kinds)}


def _address(packed: bytes) -> str:
    """Return an IP address as text; of IPv6 all eight groups, unless it stands for an IPv4 address."""
    address = ip_address(packed)
    if isinstance(address, IPv4Address) or address.ipv4_mapped:
        return str(getattr(address, "ipv4_mapped", address))
    return ":".join(f"{int(group, 16):x}" for group in address.exploded.split(":"))


def _kind(endpoint: Any) -> EndpointKind:
    member = endpoint.WhichOneof("endpoint_type")
    return EndpointKind.UNKNOWN if member is None else EndpointKind[member.upper()]


def _endpoint(endpoint: Any) -> dict[str, Any]:
    """Return the JSON of a RegisteredServiceEndpoint, without members for what is absent."""
    stored: dict[str, Any] = {"port": endpoint.port, "requires_tls": endpoint.requires_tls}
    address = endpoint.WhichOneof("address")
    if address == "domain_name":
        stored["domain_name"] = text(endpoint.domain_name)
    elif address == "ip_address" and len(endpoint.ip_address) in _ADDRESS_LENGTHS:
        stored["ip_address"] = _address(endpoint.ip_address)
    kind = endpoint.WhichOneof("endpoint_type")
    if kind == "block_node":
        apis = endpoint.block_node.endpoint_api
        stored[kind] = {"endpoint_apis": [_BLOCK_NODE_APIS.get(api, "UNRECOGNIZED") for api in apis]}
    elif kind == "general_service":
        stored[kind] = {"description": text(endpoint.general_service.description)}
    elif kind is not None:
        stored[kind] = {}
    return stored
