"""Nodes of consensus that join, change and leave, but for those that sign; registered nodes (HIP-1137)."""

from collections.abc import Iterable
from typing import Any

from mirror.demo.network import FailingTransaction, Network, require, weighted
from mirror.demo.streams.keys import Ed25519Wallet, nodes
from mirror.demo.world.accounts import SYSTEM_ADMIN
from mirror.demo.world.network import Endpoint, Node, RegisteredNode

_MAX_NODES = 12
_GOSSIP_PORT, _GRPC_PORT, _PROXY_PORT = 50_111, 50_211, 443
_MAX_REGISTERED = 16
_BLOCK_NODE_PORT, _WEB_PORT, _RELAY_PORT = 40_840, 443, 7_546
_SERVICES = ("Faucet", "Token list", "Price feed", "Name service")
_DOMAIN = "demo.example.org"


def begin(network: Network) -> None:
    for node in nodes():
        name = f"Demo node {node.node_id}"
        _join(network, Node(node.node_id, network.now, node.account_id, b"", name), has_proxy=True)


def _join(network: Network, node: Node, *, has_proxy: bool) -> None:
    """Let a node join, with a key of its own."""
    node_id = node.node_id
    node.admin_key = Ed25519Wallet("node", node_id).key
    host, port = _proxy(node_id)
    address = bytes((10, 0, node_id // 256 % 256, node_id % 256))
    body: dict[str, Any] = {
        "account_id": node.account,
        "description": node.description,
        "gossip_endpoint": [{"ipAddressV4": address, "port": _GOSSIP_PORT}],
        "service_endpoint": [{"domain_name": host, "port": _GRPC_PORT}],
        "gossip_ca_certificate": network.choose.randbytes(96),
        "grpc_certificate_hash": network.choose.randbytes(48),
        "admin_key": node.admin_key,
        "decline_reward": node.decline_reward,
    }
    if has_proxy:
        node.proxy, body["grpc_proxy_endpoint"] = (host, port), {"domain_name": host, "port": port}
    node.associated = body["associated_registered_node"] = _some_ids(network)
    network.world.nodes.by_id[node_id] = node
    network.submit("nodeCreate", body, payer=SYSTEM_ADMIN, receipt={"node_id": node_id}, fee=0)


def _proxy(node_id: int) -> tuple[str, int]:
    return f"node{node_id}.demo.example.org", _PROXY_PORT


def create(network: Network) -> None:
    """Let a node join that some person runs."""
    operator, known = network.person(settled=True), network.world.nodes
    require(len(_living(network)) < _MAX_NODES)
    node_id = known.next_id
    known.next_id += 1
    network.world.bound.add(operator.number)
    has_proxy, decline = network.choose.random() < 0.5, network.choose.random() < 0.3
    name = f"Node {node_id}, {operator.memo.partition(', ')[0]}"
    _join(network, Node(node_id, network.now, operator.number, b"", name, decline), has_proxy=has_proxy)


def update(network: Network) -> None:
    node = _some(network)
    body: dict[str, Any] = {"node_id": node.node_id}
    operator = network.find_person(settled=True)
    match network.choose.randrange(6):
        case 0:
            rack = network.choose.randrange(1, 40)
            node.description = body["description"] = f"Node {node.node_id}, rack {rack}"
        case 1 if operator:
            node.account = body["account_id"] = operator.number
            network.world.bound.add(operator.number)
        case 2:
            node.decline_reward = body["decline_reward"] = not node.decline_reward
        case 3:
            key = Ed25519Wallet("node", node.node_id, network.choose.randrange(9)).key
            node.admin_key = body["admin_key"] = key
        case 4:
            node.associated = _some_ids(network)
            body["associated_registered_node_list"] = {"associated_registered_node": node.associated}
        case _:
            node.proxy = None if node.proxy else _proxy(node.node_id)
            endpoint = {"domain_name": node.proxy[0], "port": node.proxy[1]} if node.proxy else {}
            body["grpc_proxy_endpoint"] = endpoint
    network.submit("nodeUpdate", body, payer=SYSTEM_ADMIN, fee=0)


def delete(network: Network) -> None:
    node = _some(network)
    node.deleted = True
    network.submit("nodeDelete", {"node_id": node.node_id}, payer=SYSTEM_ADMIN, fee=0)


def change_invalid(network: Network) -> None:
    """Change a node that never was or has left, or that another account owns."""
    payer = network.person()
    deleted = [node.node_id for node in network.world.nodes.by_id.values() if node.deleted]
    failing: FailingTransaction = ("nodeUpdate", {"node_id": 0}, "INVALID_SIGNATURE")
    match network.choose.randrange(3):
        case 0 if deleted:
            failing = ("nodeUpdate", {"node_id": network.choose.choice(deleted)}, "INVALID_NODE_ID")
        case 1:
            unknown = network.world.nodes.next_id + 1_000
            failing = ("nodeDelete", {"node_id": unknown}, "INVALID_NODE_ID")
    kind, body, result = failing
    network.submit(kind, body, payer=payer.number, result=result)


def _living(network: Network) -> list[Node]:
    """Return the nodes that may leave."""
    signing = {node.node_id for node in nodes()}
    known = network.world.nodes.by_id.values()
    return [node for node in known if not node.deleted and node.node_id not in signing]


def _some(network: Network) -> Node:
    """Return a node that may leave, which joins first if there is none. Errors: NotPossible."""
    if not _living(network):
        create(network)
    return network.pick(_living(network))


# REGISTERED NODES
def register(network: Network) -> None:
    owner, nodes = network.person(settled=True), network.world.nodes
    require(len(_registered(network)) < _MAX_REGISTERED)
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


def update_registered(network: Network) -> None:
    """Change the description, the key or the endpoints of a registered node."""
    node = _some_registered(network)
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


def deregister(network: Network) -> None:
    """Take a node out of the register, which fails while a consensus node names it."""
    node = _some_registered(network)
    body = {"registered_node_id": node.node_id}
    known = network.world.nodes.by_id.values()
    is_named = any(node.node_id in other.associated for other in known if not other.deleted)
    if not is_named:
        node.deleted, node.changed = True, network.now
    result = "REGISTERED_NODE_STILL_ASSOCIATED" if is_named else None
    network.submit("registeredNodeDelete", body, payer=node.owner, result=result)


def register_invalid(network: Network) -> None:
    """Change a registered node that does not exist, or register one without an address."""
    payer, result = network.person(), "INVALID_REGISTERED_NODE_ID"
    unknown = {"registered_node_id": network.world.nodes.next_registered_id + 1_000}
    unaddressed = {"service_endpoint": [{"port": _WEB_PORT, "mirror_node": {}}]}
    failing: tuple[FailingTransaction, ...] = (
        ("registeredNodeUpdate", unknown, result),
        ("registeredNodeDelete", unknown, result),
        ("registeredNodeCreate", unaddressed, "INVALID_REGISTERED_ENDPOINT_ADDRESS"),
    )
    network.submit_failing(failing, payer=payer.number)


def _some_ids(network: Network) -> tuple[int, ...]:
    """Return the ids of up to two registered nodes, in their order."""
    ids = [node.node_id for node in _registered(network)]
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


def _registered(network: Network) -> list[RegisteredNode]:
    return [node for node in network.world.nodes.registered.values() if not node.deleted]


def _some_registered(network: Network) -> RegisteredNode:
    """Return a registered node whose owner can pay; without any, one is registered first."""
    if not _registered(network):
        register(network)
    return network.pick([node for node in _registered(network) if network.can_pay(node.owner)])


ACTIONS = weighted(
    (0, create, update, delete, change_invalid),
    (0, register, update_registered, deregister, register_invalid),
)
