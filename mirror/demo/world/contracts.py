"""Contracts and hooks of the simulated network: plain data that only actions change.

Contracts and accounts are keyed by their number; the account side of a contract (balance, nonce, memo, key)
is an `Account` of the world.
"""

from collections import Counter
from dataclasses import dataclass, field

MAX_HOOKS_OF_ONE = 3


@dataclass(slots=True)
class StoredSlot:
    """A storage slot that was written; `modified` is the time of the last write."""

    value: int
    modified: int


@dataclass(slots=True)
class Contract:
    """A contract. `kind` is its name in Solidity, and `initcode` includes constructor arguments.

    `admin` is the account whose key may change it, None if none may. `owner` is the account that deployed it,
    None if the contract `creator` created it. `obtainer` got its hbars when it was deleted. `parties` are
    accounts: those that were given coins, the holders of collectibles or lockers in their order, or those
    that approved an exchange.
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
    """A storage slot of a hook, without leading zeros, empty once freed, when its life ends."""

    value: bytes
    created: int
    modified: int


@dataclass(slots=True)
class Hook:
    """A hook of an account or contract (HIP-1195), with its slots by their 32-byte key."""

    owner: int
    hook_id: int
    contract: int
    created: int
    admin_key: bytes | None = None
    deleted: bool = False
    slots: dict[bytes, HookSlot] = field(default_factory=dict)

    def put(self, key: bytes, value: bytes, at: int) -> None:
        """Write a slot; a value of zeros frees it."""
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
    """The result of a contract transaction, which is found by its 32-byte `hash`.

    `contract` is the contract that was called or created, None if none was. `error` is the error message of
    the record, or the result code if nothing was run. `ethereum` are the bytes of the Ethereum transaction,
    with its call data even if that is in a file.
    """

    consensus_timestamp: int
    contract: int | None
    sender: int
    hash: bytes
    result: str
    gas_limit: int = 0
    gas_used: int = 0
    amount: int = 0
    parameters: bytes = b""
    output: bytes = b""
    error: str = ""
    created: tuple[int, ...] = ()
    logs: tuple[LogEntry, ...] = ()
    ethereum: bytes = b""


@dataclass
class Contracts:
    """All contracts, hooks by owner and id, and results.

    By kind, `living` are the numbers of the contracts that are called, and `made` counts all there ever were.
    `relay` is the account that submits Ethereum transactions for their signers.
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

    def retire(self, contract: Contract) -> None:
        """Let a contract no longer be called."""
        self.living[contract.kind].remove(contract.number)

    def hooks_of(self, owner: int) -> list[Hook]:
        hooks = (self.hooks.get((owner, hook_id)) for hook_id in range(1, MAX_HOOKS_OF_ONE + 1))
        return [hook for hook in hooks if hook is not None and not hook.deleted]

    def all(self, kind: str) -> list[Contract]:
        """Return the contracts of a kind that are called, oldest first."""
        return [self.deployed[number] for number in self.living.get(kind, ())]
