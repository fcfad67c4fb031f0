"""How nodes join the network: those that sign at its beginning, others later."""

from typing import Any

from ledger.stream.record.compose import account
from mirror.demo.publish.nodes import Node, nodes
from mirror.demo.world.network import Network
from mirror.demo.world.wallet import Ed25519Wallet
from mirror.demo.world.world import SYSTEM_ADMIN
from mirror.values.hapi import Key

_GOSSIP_PORT, _GRPC_PORT, _PROXY_PORT = 50_111, 50_211, 443


def begin(network: Network) -> None:
    """Let the nodes join that sign the stream."""
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
    """Let a node join that an account runs."""
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
    network.world.nodes.by_id[node_id] = node
    network.submit("nodeCreate", body, payer=SYSTEM_ADMIN, receipt={"node_id": node_id}, fee=0)


def proxy(node_id: int) -> tuple[str, int]:
    """Where a node's web proxy is, if it has one: domain name and port."""
    return f"node{node_id}.demo.example.org", _PROXY_PORT
