"""The state of the simulated network: plain data that only actions change.

Entities are keyed by their number, and are all in the shard and realm of the settings. Amounts are
tinybars or a token's smallest units, times are nanoseconds.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from mirror.core.values import entity_id
from mirror.demo.world.accounts import Account
from mirror.demo.world.contracts import Contracts
from mirror.demo.world.files import File
from mirror.demo.world.network import Nodes, System
from mirror.demo.world.schedules import Schedule
from mirror.demo.world.staking import Staking
from mirror.demo.world.tokens import Tokens
from mirror.demo.world.topics import Topic

_MAX_CLOSED = 500


@dataclass
class World:
    """The whole state.

    `people` are the accounts that act by themselves. The accounts in `bound` are never closed, as something
    depends on them. `hollow` are accounts that still have no key, `closed` the accounts closed last. `named`
    counts the names that were given.
    """

    accounts: dict[int, Account] = field(default_factory=dict)
    people: list[int] = field(default_factory=list)
    hollow: list[int] = field(default_factory=list)
    closed: deque[int] = field(default_factory=lambda: deque(maxlen=_MAX_CLOSED))
    named: int = 0
    bound: set[int] = field(default_factory=set)
    tokens: Tokens = field(default_factory=Tokens)
    contracts: Contracts = field(default_factory=Contracts)
    next_number: int = 1001
    files: dict[int, File] = field(default_factory=dict)
    topics: dict[int, Topic] = field(default_factory=dict)
    schedules: dict[int, Schedule] = field(default_factory=dict)
    system: System = field(default_factory=System)
    nodes: Nodes = field(default_factory=Nodes)
    staking: Staking = field(default_factory=Staking)

    def account_at(self, address: bytes) -> Account | None:
        """Return the account or contract with a long-zero address or an alias; None if there is none."""
        number = entity_id.num_of_long_zero(address)
        if number is not None:
            return self.accounts.get(number)
        return next((account for account in self.accounts.values() if account.evm_address == address), None)

    def living(self) -> Iterator[Account]:
        """Return the accounts of people."""
        return (self.accounts[number] for number in self.people)
