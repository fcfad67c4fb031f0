"""Registered nodes (HIP-1137): block nodes, mirror nodes, relays and other services that people announce."""

from collections.abc import Iterable
from typing import Any

from mirror.demo.keys.wallet import Ed25519Wallet
from mirror.demo.network import Network, Refused, require, weighted
from mirror.demo.world.nodes import Endpoint, RegisteredNode

_MOST_REGISTERED = 16
_BLOCK_NODE_PORT, _WEB_PORT, _RELAY_PORT = 40_840, 443, 7_546
_SERVICES = ("Faucet", "Token list", "Price feed", "Name service")
_DOMAIN = "demo.example.org"


def create(network: Network) -> None:
    owner, nodes = network.person(settled=True), network.world.nodes
    require(len(_living(network)) < _MOST_REGISTERED)
    node_id = nodes.next_registered_id
    nodes.next_registered_id += 1
    endpoints = _endpoints(network, node_id)
    key = Ed25519Wallet("registered node", node_id).key
    description = f"Node of {owner.memo.partition(', ')[0]}"
    node = RegisteredNode(node_id, network.now, network.now, owner.number, key, description, endpoints)
    nodes.registered[node_id] = node
    network.world.bound.add(owner.number)
    body = {"admin_key": key, "description": description, "service_endpoint": _messages(endpoints)}
    receipt = {"registered_node_id": node_id}
    network.submit("registeredNodeCreate", body, payer=owner.number, receipt=receipt)


def update(network: Network) -> None:
    """Change the description, the key or the endpoints of a registered node."""
    node = _some(network)
    body: dict[str, Any] = {"registered_node_id": node.node_id}
    match network.choose.randrange(3):
        case 0:
            room = network.choose.randrange(1, 40)
            node.description = body["description"] = f"Node {node.node_id}, room {room}"
        case 1:
            place = network.choose.randrange(9)
            key = Ed25519Wallet("registered node", node.node_id, place).key
            node.admin_key = body["admin_key"] = key
        case _:
            node.endpoints = _endpoints(network, node.node_id)
            body["service_endpoint"] = _messages(node.endpoints)
    node.changed = network.now
    network.submit("registeredNodeUpdate", body, payer=node.owner)


def delete(network: Network) -> None:
    """Take a node out of the register, which fails while a consensus node names it."""
    node = _some(network)
    body = {"registered_node_id": node.node_id}
    known = network.world.nodes.by_id.values()
    is_named = any(node.node_id in other.associated for other in known if not other.deleted)
    if not is_named:
        node.deleted, node.changed = True, network.now
    result = "REGISTERED_NODE_STILL_ASSOCIATED" if is_named else None
    network.submit("registeredNodeDelete", body, payer=node.owner, result=result)


def change_in_vain(network: Network) -> None:
    """Change a registered node that does not exist, or register one without an address."""
    payer, result = network.person(), "INVALID_REGISTERED_NODE_ID"
    unknown = {"registered_node_id": network.world.nodes.next_registered_id + 1_000}
    unaddressed = {"service_endpoint": [{"port": _WEB_PORT, "mirror_node": {}}]}
    refused: tuple[Refused, ...] = (
        ("registeredNodeUpdate", unknown, result),
        ("registeredNodeDelete", unknown, result),
        ("registeredNodeCreate", unaddressed, "INVALID_REGISTERED_ENDPOINT_ADDRESS"),
    )
    network.submit_refused(refused, payer=payer.number)


def some_ids(network: Network) -> tuple[int, ...]:
    """Return the ids of up to two registered nodes, in their order."""
    ids = [node.node_id for node in _living(network)]
    return tuple(sorted(network.choose.sample(ids, min(len(ids), network.choose.randrange(3)))))


def _endpoints(network: Network, node_id: int) -> tuple[Endpoint, ...]:
    """Return the endpoints of a node, sometimes of two kinds. A block node has two, others have one."""
    block_address, relay_address = _address(network), _address(network)
    service = network.choose.choice(_SERVICES)
    endpoints: dict[str, tuple[tuple[Any, ...], ...]] = {
        "block_node": (
            (block_address, _BLOCK_NODE_PORT, False, ("STATUS", "SUBSCRIBE_STREAM")),
            (f"block{node_id}.{_DOMAIN}", _BLOCK_NODE_PORT, True, ("PUBLISH",)),
        ),
        "mirror_node": ((f"mirror{node_id}.{_DOMAIN}", _WEB_PORT, True),),
        "rpc_relay": ((relay_address, _RELAY_PORT, False),),
        "general_service": ((f"service{node_id}.{_DOMAIN}", _WEB_PORT, True, (), service),),
    }
    kinds = network.choose.sample(list(endpoints), network.choose.choice((1, 1, 1, 2)))
    return tuple(Endpoint(kind, *endpoint) for kind in kinds for endpoint in endpoints[kind])


def _address(network: Network) -> bytes:
    """Return an IP address that is reserved for documents (RFC 5737, RFC 3849)."""
    if network.choose.random() < 0.3:
        return bytes.fromhex("20010db8") + bytes(10) + network.choose.randbytes(2)
    return bytes((203, 0, 113, network.choose.randrange(1, 255)))


def _messages(endpoints: Iterable[Endpoint]) -> list[dict[str, Any]]:
    return [
        {
            "domain_name" if isinstance(endpoint.host, str) else "ip_address": endpoint.host,
            "port": endpoint.port,
            "requires_tls": endpoint.requires_tls,
            endpoint.kind: (
                ({"endpoint_api": endpoint.apis} if endpoint.apis else {})
                | ({"description": endpoint.description} if endpoint.description else {})
            ),
        }
        for endpoint in endpoints
    ]


def _living(network: Network) -> list[RegisteredNode]:
    return [node for node in network.world.nodes.registered.values() if not node.deleted]


def _some(network: Network) -> RegisteredNode:
    """Return a registered node whose owner can pay. If there is none at all, one is registered first.

    Errors: NotPossible.
    """
    if not _living(network):
        create(network)
    return network.pick([node for node in _living(network) if network.can_pay(node.owner)])


ACTIONS = weighted((0, create, update, delete, change_in_vain))
