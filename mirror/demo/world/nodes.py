"""Nodes as transactions have created, changed and deleted them: those of consensus, and registered ones."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class Node:
    """A node (table node). `admin_key` is a serialized Key, `proxy` the domain and port of its web proxy.

    `associated` are the ids of registered nodes that its operator runs as well.
    """

    node_id: int
    created: int
    account: int
    admin_key: bytes
    description: str
    decline_reward: bool = False
    proxy: tuple[str, int] | None = None
    deleted: bool = False
    associated: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An address of a registered node: an IP address of 4 or 16 bytes, or a domain name.

    `kind` is a member of RegisteredServiceEndpoint. `apis` are the interfaces of a block node by their names,
    `description` that of another service.
    """

    kind: str
    host: bytes | str
    port: int
    requires_tls: bool
    apis: tuple[str, ...] = ()
    description: str = ""


@dataclass(slots=True)
class RegisteredNode:
    """A registered node (HIP-1137, table registered_node), for which `owner` pays.

    `changed` is when it was last changed, and `admin_key` is a serialized Key.
    """

    node_id: int
    created: int
    changed: int
    owner: int
    admin_key: bytes
    description: str
    endpoints: tuple[Endpoint, ...]
    deleted: bool = False


@dataclass
class Nodes:
    """All nodes by id, and the ids of the next ones to join."""

    by_id: dict[int, Node] = field(default_factory=dict)
    next_id: int = 4
    registered: dict[int, RegisteredNode] = field(default_factory=dict)
    next_registered_id: int = 1
