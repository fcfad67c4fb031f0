"""What the network's administrators do, and the pseudorandom numbers it draws."""

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Freeze:
    """A step of a freeze or an upgrade (network_freeze). `kind` is the number of its FreezeType; `start` is
    None for a step without a time.
    """

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
    """`deleted_files` are those that the network deleted itself, and may take back."""

    freezes: list[Freeze] = field(default_factory=list)
    is_prepared: bool = False
    is_scheduled: bool = False
    deleted_files: list[int] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)
