"""What is true in the simulated network: plain data, changed by actions alone.

Entities are keyed by their number (shard and realm are 0). Amounts are tinybars or a token's smallest units,
times nanoseconds.
"""

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from mirror.demo.evm.deployed import Contracts
from mirror.demo.publish.nodes import Nodes
from mirror.demo.tokens.tokens import Tokens
from mirror.demo.world.files import File
from mirror.demo.world.schedules import Schedule
from mirror.demo.world.staking import Staking
from mirror.demo.world.system import System
from mirror.demo.world.topics import Topic
from mirror.values import entity_id

SYSTEM_ADMIN, FREEZE_ADMIN = 50, 58

AUTO_RENEW_PERIOD = 7_776_000  # seconds, 90 days: what most entities ask for

_CLOSED_KEPT = 500


@dataclass(slots=True)
class Account:
    """An account, or the account side of a contract. `key` is a serialized Key, None when there is none.

    Who is `passing` takes on nothing that would keep the account from being closed.
    """

    number: int
    created: int
    balance: int = 0
    balance_timestamp: int = 0  # of the last transfer, also one of nothing
    memo: str = ""
    key: bytes | None = None
    alias: bytes | None = None
    evm_address: bytes | None = None
    nonce: int = 0
    deleted: bool = False
    is_contract: bool = False
    passing: bool = False
    receiver_signature_required: bool = False
    max_automatic_token_associations: int = 0
    auto_renew_period: int | None = None  # seconds
    expiration: int | None = None
    staked_account_id: int | None = None
    staked_node_id: int | None = None
    decline_reward: bool = False
    stake_period_start: int | None = None  # epoch day

    @property
    def address(self) -> bytes:
        """The EVM address: that of its alias, else the long-zero form."""
        return self.evm_address or entity_id.long_zero(self.number)


@dataclass
class World:
    """Everything.

    `people` are the accounts that act by themselves; those in `bound` stay, as something depends on them.
    `hollow` are accounts without a key, which somebody paid to before their owner came; `closed` are the
    last accounts that were. `named` counts the names that were given.
    """

    accounts: dict[int, Account] = field(default_factory=dict)
    people: list[int] = field(default_factory=list)
    hollow: list[int] = field(default_factory=list)
    closed: deque[int] = field(default_factory=lambda: deque(maxlen=_CLOSED_KEPT))
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

    def living(self) -> Iterator[Account]:
        """The accounts of people."""
        return (self.accounts[number] for number in self.people)
