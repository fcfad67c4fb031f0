"""What is true of contracts and hooks in the simulated network: plain data, changed by actions alone.

Contracts and accounts are keyed by their number; the account side of a contract (balance, nonce, memo, key)
is an `Account` of the world.
"""

from collections import Counter
from dataclasses import dataclass, field

MOST_HOOKS_OF_ONE = 3


@dataclass(slots=True)
class StoredSlot:
    """A storage slot that was ever written; `modified` is when it was last."""

    value: int
    modified: int


@dataclass(slots=True)
class Contract:
    """A contract that was created. `kind` is its name in Solidity, `initcode` includes constructor arguments.

    `admin` is the account whose key may change it, None when nobody's may; `owner` the one that deployed it,
    None for one that the contract `creator` created; `obtainer` got what it held when it was deleted.
    `parties` are accounts: of a coin those that were given some, of collectibles the holder of each in order,
    of a factory the holder of each locker, of an exchange those that let it take their coins.
    """

    number: int
    kind: str
    address: bytes
    code: bytes
    initcode: bytes
    file: int | None = None
    admin: int | None = None
    owner: int | None = None
    creator: int | None = None
    trades: int | None = None  # the coin of an exchange
    auto_renew_account: int | None = None
    obtainer: int | None = None
    parties: list[int] = field(default_factory=list)
    slots: dict[int, StoredSlot] = field(default_factory=dict)


@dataclass(slots=True)
class HookSlot:
    """A storage slot of a hook: no leading zeros, empty once freed. `created` begins its current life."""

    value: bytes
    created: int
    modified: int


@dataclass(slots=True)
class Hook:
    """A hook of an account or contract (HIP-1195); slots by their 32-byte key."""

    owner: int
    hook_id: int
    contract: int
    created: int
    admin_key: bytes | None = None
    deleted: bool = False
    slots: dict[bytes, HookSlot] = field(default_factory=dict)

    def put(self, key: bytes, value: bytes, at: int) -> None:
        """Write a slot at a time; nothing but zeros free it."""
        key, value = key.rjust(32, b"\0"), value.lstrip(b"\0")
        before = self.slots.get(key)
        created = before.created if before is not None and before.value else at
        self.slots[key] = HookSlot(value, created, at)


@dataclass(frozen=True, slots=True)
class LogEntry:
    contract: int
    topics: tuple[bytes, ...]
    data: bytes


@dataclass(frozen=True, slots=True)
class Result:
    """What came of a transaction that ran a contract. `hash` is the one it is found by, 32 bytes.

    `contract` is what was called or created, None when nothing was. `error` is what the record says of a
    failure: its message, or the result where nothing was run.
    """

    consensus_timestamp: int
    contract: int | None
    sender: int
    hash: bytes
    result: str
    gas_limit: int
    gas_used: int
    amount: int
    parameters: bytes
    output: bytes
    error: str
    created: tuple[int, ...] = ()
    logs: tuple[LogEntry, ...] = ()


@dataclass
class Contracts:
    """All contracts, hooks by owner and id, and results.

    `living` are the numbers of the contracts of a kind that are called, `made` is how many of it there ever
    were; `relay` is the account that submits Ethereum transactions for those who sign them.
    """

    deployed: dict[int, Contract] = field(default_factory=dict)
    living: dict[str, list[int]] = field(default_factory=dict)
    made: Counter[str] = field(default_factory=Counter)
    by_address: dict[bytes, int] = field(default_factory=dict)
    hooks: dict[tuple[int, int], Hook] = field(default_factory=dict)
    results: list[Result] = field(default_factory=list)
    relay: int | None = None

    def add(self, contract: Contract) -> None:
        self.deployed[contract.number] = contract
        self.by_address[contract.address] = contract.number
        self.living.setdefault(contract.kind, []).append(contract.number)
        self.made[contract.kind] += 1

    def leave(self, contract: Contract) -> None:
        """Nobody calls a contract any more."""
        self.living[contract.kind].remove(contract.number)

    def hooks_of(self, owner: int) -> list[Hook]:
        """The hooks of an account or contract that are not deleted."""
        ids = range(1, MOST_HOOKS_OF_ONE + 1)
        found = (self.hooks.get((owner, hook_id)) for hook_id in ids)
        return [hook for hook in found if hook is not None and not hook.deleted]

    def of(self, kind: str) -> list[Contract]:
        """The contracts of a kind that are not deleted, oldest first."""
        return [self.deployed[number] for number in self.living.get(kind, ())]
