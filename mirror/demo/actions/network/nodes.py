"""Nodes: they join, change and leave the network. The nodes that sign the stream stay as they are."""

from typing import Any

from mirror.core.values.hapi.messages import Key
from mirror.demo.actions.network import registered
from mirror.demo.keys.nodes import nodes
from mirror.demo.keys.wallet import Ed25519Wallet
from mirror.demo.network import Network, NotPossible, weighted
from mirror.demo.streams.record_files import account
from mirror.demo.world.accounts import SYSTEM_ADMIN
from mirror.demo.world.nodes import Node

_MOST_NODES = 12
_GOSSIP_PORT, _GRPC_PORT, _PROXY_PORT = 50_111, 50_211, 443


def begin(network: Network) -> None:
    """Let the nodes that sign the stream join."""
    for node in nodes():
        join(network, node.node_id, node.account_id, f"Demo node {node.node_id}", has_proxy=True)


def join(
    network: Network,
    node_id: int,
    operator: int,
    description: str,
    *,
    has_proxy: bool,
    decline_reward: bool = False,
) -> None:
    """Let a node join that the account `operator` runs."""
    key = Ed25519Wallet("node", node_id).key
    node = Node(node_id, network.now, operator, key, description, decline_reward)
    body: dict[str, Any] = {
        "account_id": account(operator),
        "description": description,
        "gossip_endpoint": [
            {"ipAddressV4": bytes((10, 0, node_id // 256 % 256, node_id % 256)), "port": _GOSSIP_PORT}
        ],
        "service_endpoint": [{"domain_name": proxy(node_id)[0], "port": _GRPC_PORT}],
        "gossip_ca_certificate": network.choose.randbytes(96),
        "grpc_certificate_hash": network.choose.randbytes(48),
        "admin_key": Key.FromString(key),
        "decline_reward": decline_reward,
    }
    if has_proxy:
        node.proxy = proxy(node_id)
        body["grpc_proxy_endpoint"] = {"domain_name": node.proxy[0], "port": node.proxy[1]}
    node.associated = registered.some_ids(network)
    body["associated_registered_node"] = node.associated
    network.world.nodes.by_id[node_id] = node
    network.submit("nodeCreate", body, payer=SYSTEM_ADMIN, receipt={"node_id": node_id}, fee=0)


def proxy(node_id: int) -> tuple[str, int]:
    """Return the domain name and port of a node's web proxy."""
    return f"node{node_id}.demo.example.org", _PROXY_PORT


def create(network: Network) -> None:
    """Let a node join that some person runs."""
    operator, known = network.person(settled=True), network.world.nodes
    if len(_living(network)) >= _MOST_NODES:
        raise NotPossible
    node_id = known.next_id
    known.next_id += 1
    network.world.bound.add(operator.number)
    join(
        network,
        node_id,
        operator.number,
        f"Node {node_id}, {operator.memo.partition(', ')[0]}",
        has_proxy=network.choose.random() < 0.5,
        decline_reward=network.choose.random() < 0.3,
    )


def update(network: Network) -> None:
    """Change the description, account, key, reward, web proxy or registered nodes of a node."""
    if not _living(network):
        create(network)
    node = network.choose.choice(_living(network))
    body: dict[str, Any] = {"node_id": node.node_id}
    operator = network.find_person(settled=True)
    match network.choose.randrange(6):
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
        case 4:
            node.associated = registered.some_ids(network)
            body["associated_registered_node_list"] = {"associated_registered_node": node.associated}
        case _:
            node.proxy = None if node.proxy else proxy(node.node_id)
            endpoint = {"domain_name": node.proxy[0], "port": node.proxy[1]} if node.proxy else {}
            body["grpc_proxy_endpoint"] = endpoint
    network.submit("nodeUpdate", body, payer=SYSTEM_ADMIN, fee=0)


def delete(network: Network) -> None:
    """Let a node leave."""
    if not _living(network):
        create(network)
    node = network.choose.choice(_living(network))
    node.deleted = True
    network.submit("nodeDelete", {"node_id": node.node_id}, payer=SYSTEM_ADMIN, fee=0)


def change_in_vain(network: Network) -> None:
    """Change a node that never was or has left, or that another account owns."""
    payer = network.person()
    deleted = [node.node_id for node in network.world.nodes.by_id.values() if node.deleted]
    match network.choose.randrange(3):
        case 0 if deleted:
            kind, node_id, result = "nodeUpdate", network.choose.choice(deleted), "INVALID_NODE_ID"
        case 1:
            kind, node_id, result = "nodeDelete", network.world.nodes.next_id + 1_000, "INVALID_NODE_ID"
        case _:
            kind, node_id, result = "nodeUpdate", 0, "INVALID_SIGNATURE"
    network.submit(kind, {"node_id": node_id}, payer=payer.number, result=result)


def _living(network: Network) -> list[Node]:
    """Return the nodes that may leave."""
    signing = {node.node_id for node in nodes()}
    known = network.world.nodes.by_id.values()
    return [node for node in known if not node.deleted and node.node_id not in signing]


ACTIONS = weighted((0, create, update, delete, change_in_vain))
