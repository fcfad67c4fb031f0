"""Freezes, files that the network deleted, and pseudorandom numbers."""

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
    """The id of the ledger, the key that proofs of its history are verified with, and the parts of its nodes.

    `contributions` has the id, the weight and the key of each node.
    """

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
