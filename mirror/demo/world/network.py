"""Nodes, of consensus and registered ones; freezes, files that the network deleted, pseudorandom numbers."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Freeze:
    """A step of a freeze or an upgrade (network_freeze). `kind` is the number of its FreezeType."""

    consensus_timestamp: int
    kind: int
    payer: int
    start: int | None = None
    file: int | None = None
    file_hash: bytes = b""


@dataclass(frozen=True, slots=True)
class Draw:
    """A pseudorandom number below `bound`; with a bound of 0 it is 48 bytes (prng)."""

    consensus_timestamp: int
    payer: int
    bound: int
    drawn: int | bytes


@dataclass(frozen=True, slots=True)
class LedgerId:
    """The id of the ledger, the key that verifies its history, and id, weight and key of each node."""

    consensus_timestamp: int
    ledger_id: bytes
    verification_key: bytes
    contributions: tuple[tuple[int, int, bytes], ...]


@dataclass
class System:
    """The state of an upgrade, and all draws. The network can undelete `deleted_files`.

    `proof_steps` counts what nodes did to prove the network's history.
    """

    freezes: list[Freeze] = field(default_factory=list)
    is_prepared: bool = False
    is_scheduled: bool = False
    deleted_files: list[int] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
    proof_steps: int = 0
    ledger_ids: dict[bytes, LedgerId] = field(default_factory=dict)


@dataclass(slots=True)
class Node:
    """A node. `proxy` is domain and port of its web proxy, `associated` its operator's registered nodes."""

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
