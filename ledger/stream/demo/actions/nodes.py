"""Nodes: they join, change and leave the network. Those that sign the stream stay as they are."""

from typing import Any

from ledger.stream.compose import account
from ledger.stream.demo.network import Action, Network
from ledger.stream.demo.nodes import Node
from ledger.stream.demo.wallet import Ed25519Wallet
from ledger.stream.demo.world import SYSTEM_ADMIN
from mirror.values.hapi import Key

_MOST_NODES = 12
_GOSSIP_PORT, _GRPC_PORT, _PROXY_PORT = 50_111, 50_211, 443


def create_node(network: Network) -> bool:
    """A node joins, run by somebody."""
    operator, nodes = network.person(), network.world.nodes
    if operator is None or len(_living(network)) >= _MOST_NODES:
        return False
    node_id, at = nodes.next_id, network.now
    nodes.next_id += 1
    key = Ed25519Wallet("node", node_id).key
    node = Node(node_id, at, operator.number, key, f"Node {node_id}, {operator.memo.partition(' (')[0]}")
    node.decline_reward = network.choose.random() < 0.3
    body: dict[str, Any] = {
        "account_id": account(operator.number),
        "description": node.description,
        "gossip_endpoint": [{"ipAddressV4": bytes((10, 0, 0, node_id)), "port": _GOSSIP_PORT}],
        "service_endpoint": [{"domain_name": _domain(node_id), "port": _GRPC_PORT}],
        "gossip_ca_certificate": network.choose.randbytes(96),
        "grpc_certificate_hash": network.choose.randbytes(48),
        "admin_key": Key.FromString(key),
        "decline_reward": node.decline_reward,
    }
    if network.choose.random() < 0.5:
        node.proxy = (_domain(node_id), _PROXY_PORT)
        body["grpc_proxy_endpoint"] = {"domain_name": node.proxy[0], "port": node.proxy[1]}
    network.world.bound.add(operator.number)
    nodes.by_id[node_id] = node
    network.submit("nodeCreate", body, payer=SYSTEM_ADMIN, receipt={"node_id": node_id}, fee=0)
    return True


def update_node(network: Network) -> bool:
    """A node gets another description, account or key, declines rewards, or gives up its web proxy."""
    if not _living(network) and not create_node(network):
        return False
    node = network.choose.choice(_living(network))
    body: dict[str, Any] = {"node_id": node.node_id}
    operator = network.person()
    match network.choose.randrange(5):
        case 0:
            node.description = f"Node {node.node_id}, rack {network.choose.randrange(1, 40)}"
            body["description"] = {"value": node.description}
        case 1 if operator:
            node.account = operator.number
            network.world.bound.add(operator.number)
            body["account_id"] = account(operator.number)
        case 2:
            node.decline_reward = not node.decline_reward
            body["decline_reward"] = {"value": node.decline_reward}
        case 3:
            node.admin_key = Ed25519Wallet("node", node.node_id, network.choose.randrange(9)).key
            body["admin_key"] = Key.FromString(node.admin_key)
        case _:
            node.proxy = None if node.proxy else (_domain(node.node_id), _PROXY_PORT)
            proxy = {"domain_name": node.proxy[0], "port": node.proxy[1]} if node.proxy else {}
            body["grpc_proxy_endpoint"] = proxy
    network.submit("nodeUpdate", body, payer=SYSTEM_ADMIN, fee=0)
    return True


def delete_node(network: Network) -> bool:
    """A node leaves."""
    if not _living(network) and not create_node(network):
        return False
    node = network.choose.choice(_living(network))
    node.deleted = True
    network.submit("nodeDelete", {"node_id": node.node_id}, payer=SYSTEM_ADMIN, fee=0)
    return True


def misuse_node(network: Network) -> bool:
    """Somebody changes a node that never was or has left, or one of somebody else."""
    payer = network.person()
    if payer is None:
        return False
    deleted = [node.node_id for node in network.world.nodes.by_id.values() if node.deleted]
    match network.choose.randrange(3):
        case 0 if deleted:
            kind, node_id, result = "nodeUpdate", network.choose.choice(deleted), "INVALID_NODE_ID"
        case 1:
            kind, node_id, result = "nodeDelete", network.world.nodes.next_id + 1_000, "INVALID_NODE_ID"
        case _:
            kind, node_id, result = "nodeUpdate", 0, "INVALID_SIGNATURE"
    network.submit(kind, {"node_id": node_id}, payer=payer.number, result=result)
    return True


def _living(network: Network) -> list[Node]:
    return [node for node in network.world.nodes.by_id.values() if not node.deleted]


def _domain(node_id: int) -> str:
    return f"node{node_id}.demo.example.org"


ACTIONS = (
    Action(create_node, 0),
    Action(update_node, 0),
    Action(delete_node, 0),
    Action(misuse_node, 0),
)
