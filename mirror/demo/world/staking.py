"""Staking (HIP-406): who stakes to which node, and what that has earned. Amounts in tinybars.

A stake counts from the midnight (UTC) after it was made, and earns for each whole day from there. What it has
earned is paid with the next transaction that touches the balance, or changes the stake.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from mirror.demo.world.accounts import HBAR, Account
from mirror.values.timestamp import NANOS_PER_DAY

# Tinybars a day for each hbar: 2.5 % a year.
MOST_REWARD_RATE = 6_849


@dataclass(frozen=True, slots=True)
class Stake:
    """What an account staked when a period began (entity_stake): `node` is None for the rewards account.

    `total` is its balance and what others stake to it; `pending` was earned and not paid by then.
    """

    ended_day: int
    node: int | None
    staked_to_me: int
    total: int
    pending: int


@dataclass(frozen=True, slots=True)
class NodeStake:
    """The stake of a node in the period that begins, and its reward per hbar in the one that ended."""

    rewarded: int
    not_rewarded: int
    reward_rate: int


@dataclass
class Staking:
    """`pending` is what accounts may be paid now, without those who may be paid nothing."""

    stakes: dict[int, Stake] = field(default_factory=dict)
    pending: dict[int, int] = field(default_factory=dict)
    nodes: dict[int, NodeStake] = field(default_factory=dict)
    updates: list[int] = field(default_factory=list)  # consensus timestamps

    def due(self, touched: Iterable[int], accounts: dict[int, Account]) -> dict[int, int]:
        """What a transaction has to pay that touches the balances of these accounts."""
        if not self.pending:
            return {}
        found: dict[int, int] = {}
        for number in touched:
            # Whoever they stake to has another stake now.
            for rewarded in (number, accounts[number].staked_account_id):
                if rewarded in self.pending:
                    found[rewarded] = self.pending[rewarded]
        return found

    def paid(self, rewards: Iterable[int], accounts: dict[int, Account], at: int) -> None:
        """These were paid their rewards."""
        for number in rewards:
            del self.pending[number]
            accounts[number].stake_period_start = at // NANOS_PER_DAY - 1

    def restart(self, account: Account, at: int) -> None:
        """The stake of an account changed: it begins to earn at the next midnight."""
        self.pending.pop(account.number, None)
        account.stake_period_start = at // NANOS_PER_DAY

    def end_period(self, accounts: dict[int, Account], rates: dict[int, int], at: int, paying: int) -> None:
        """The day before `at` is over, in which nodes earned these rates; `paying` pays the rewards."""
        day = at // NANOS_PER_DAY - 1
        living = [one for one in accounts.values() if not one.deleted]
        staked_to: dict[int, int] = {}
        for one in living:
            if one.staked_account_id is not None:
                staked_to[one.staked_account_id] = staked_to.get(one.staked_account_id, 0) + one.balance
        rewarded, not_rewarded = dict.fromkeys(rates, 0), dict.fromkeys(rates, 0)
        for one in living:
            if one.staked_node_id is None:
                continue
            to_me = staked_to.get(one.number, 0)
            total = one.balance + to_me
            if one.decline_reward:
                not_rewarded[one.staked_node_id] += total
                continue
            rewarded[one.staked_node_id] += total
            pending = self.pending.get(one.number, 0) + self._earned(one, day, rates)
            if pending:
                self.pending[one.number] = pending
            self.stakes[one.number] = Stake(day, one.staked_node_id, to_me, total, pending)
        self.stakes[paying] = Stake(day, None, staked_to.get(paying, 0), 0, 0)
        self.nodes = {
            node: NodeStake(rewarded[node], not_rewarded[node], rate) for node, rate in rates.items()
        }
        self.updates.append(at)

    def _earned(self, account: Account, day: int, rates: dict[int, int]) -> int:
        """What the stake at the beginning of the day earned by its end."""
        before = self.stakes.get(account.number)
        started = account.stake_period_start
        if before is None or before.node is None or started is None or started >= day:
            return 0
        return rates[before.node] * (before.total // HBAR)
