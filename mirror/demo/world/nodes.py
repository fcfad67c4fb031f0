"""Nodes as transactions have created, changed and deleted them."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Node:
    """A node that a transaction created (table node). `admin_key` is a serialized Key.

    `proxy` is the (domain name, port) of its gRPC web proxy.
    """

    node_id: int
    created: int
    account: int
    admin_key: bytes
    description: str
    decline_reward: bool = False
    proxy: tuple[str, int] | None = None
    deleted: bool = False


@dataclass
class Nodes:
    """Nodes beyond those that sign, by their id."""

    by_id: dict[int, Node] = field(default_factory=dict)
    next_id: int = 4
