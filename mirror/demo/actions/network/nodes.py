"""Nodes: they join, change and leave the network. The nodes that sign the stream stay as they are."""

from typing import Any

from mirror.demo.actions.network import registered
from mirror.demo.keys.nodes import nodes
from mirror.demo.keys.wallet import Ed25519Wallet
from mirror.demo.network import Network, Refused, require, weighted
from mirror.demo.world.accounts import SYSTEM_ADMIN
from mirror.demo.world.nodes import Node

_MOST_NODES = 12
_GOSSIP_PORT, _GRPC_PORT, _PROXY_PORT = 50_111, 50_211, 443


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
    node.associated = body["associated_registered_node"] = registered.some_ids(network)
    network.world.nodes.by_id[node_id] = node
    network.submit("nodeCreate", body, payer=SYSTEM_ADMIN, receipt={"node_id": node_id}, fee=0)


def _proxy(node_id: int) -> tuple[str, int]:
    return f"node{node_id}.demo.example.org", _PROXY_PORT


def create(network: Network) -> None:
    """Let a node join that some person runs."""
    operator, known = network.person(settled=True), network.world.nodes
    require(len(_living(network)) < _MOST_NODES)
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
            node.associated = registered.some_ids(network)
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


def change_in_vain(network: Network) -> None:
    """Change a node that never was or has left, or that another account owns."""
    payer = network.person()
    deleted = [node.node_id for node in network.world.nodes.by_id.values() if node.deleted]
    refused: Refused = ("nodeUpdate", {"node_id": 0}, "INVALID_SIGNATURE")
    match network.choose.randrange(3):
        case 0 if deleted:
            refused = ("nodeUpdate", {"node_id": network.choose.choice(deleted)}, "INVALID_NODE_ID")
        case 1:
            unknown = network.world.nodes.next_id + 1_000
            refused = ("nodeDelete", {"node_id": unknown}, "INVALID_NODE_ID")
    kind, body, result = refused
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


ACTIONS = weighted((0, create, update, delete, change_in_vain))
