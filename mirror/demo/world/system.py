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


@dataclass
class System:
    """The state of an upgrade, and all draws. The network can undelete `deleted_files`."""

    freezes: list[Freeze] = field(default_factory=list)
    is_prepared: bool = False
    is_scheduled: bool = False
    deleted_files: list[int] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
