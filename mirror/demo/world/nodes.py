"""Nodes as transactions have created, changed and deleted them."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Node:
    """A node (table node). `admin_key` is a serialized Key, `proxy` the domain and port of its web proxy."""

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
    """All nodes by id, and the id of the next one to join."""

    by_id: dict[int, Node] = field(default_factory=dict)
    next_id: int = 4
