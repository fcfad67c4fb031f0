"""Registered nodes and the id of the ledger in the API and in the tables."""

from ipaddress import ip_address
from random import Random
from typing import Any

from mirror.demo.world.network import Endpoint, RegisteredNode
from mirror.demo.world.world import World
from tests.e2e.forms import at, base_64, key, since
from tests.e2e.rest import Rest, same
from tests.ledger.ingest.load import stored

_KINDS = ("block_node", "general_service", "mirror_node", "rpc_relay")


def check(rest: Rest, world: World, choose: Random) -> None:
    living = sorted(
        (node for node in world.nodes.registered.values() if not node.deleted), key=lambda one: one.node_id
    )
    order, path = choose.choice(("asc", "desc")), "network/registered-nodes"
    expected = [record(one) for one in (living if order == "asc" else reversed(living))]
    same(rest.all(path, "registered_nodes", order=order), expected, path, order)
    kind = choose.choice(_KINDS)
    found = rest.all(path, "registered_nodes", type=kind.upper())
    of_kind = [one for one in living if any(endpoint.kind == kind for endpoint in one.endpoints)]
    same(found, [record(one) for one in of_kind], path, kind)
    _check_ledger_ids(world)


def _check_ledger_ids(world: World) -> None:
    """No endpoint shows them: the table is what can be compared."""
    columns = "ledger_id, consensus_timestamp, history_proof_verification_key, node_contributions"
    expected = [
        (
            one.ledger_id,
            one.consensus_timestamp,
            one.verification_key,
            [
                {"history_proof_key": base_64(key), "node_id": node_id, "weight": weight}
                for node_id, weight, key in one.contributions
            ],
        )
        for one in world.system.ledger_ids.values()
    ]
    same(stored("ledger", columns), expected, "ledger")


# JSON
def record(node: RegisteredNode) -> dict[str, Any]:
    return {
        "admin_key": key(node.admin_key),
        "created_timestamp": at(node.created),
        "description": node.description,
        "registered_node_id": node.node_id,
        "service_endpoints": [endpoint_json(one) for one in node.endpoints],
        "timestamp": since(node.changed),
    }


def endpoint_json(one: Endpoint) -> dict[str, Any]:
    services: dict[str, Any] = dict.fromkeys(_KINDS)
    services[one.kind] = {}
    if one.apis:
        services[one.kind] = {"endpoint_apis": list(one.apis)}
    if one.description:
        services[one.kind] = {"description": one.description}
    is_name = isinstance(one.host, str)
    return services | {
        "domain_name": one.host if is_name else None,
        "ip_address": None if isinstance(one.host, str) else str(ip_address(one.host)),
        "port": one.port,
        "requires_tls": one.requires_tls,
        "type": one.kind.upper(),
    }
