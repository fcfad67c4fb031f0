"""Staking (HIP-406): stakes of accounts and nodes, and their rewards. Amounts are tinybars.

A stake counts from the next midnight (UTC) and earns for each whole day from then on. Its reward is paid with
the next transaction that moves the balance or changes the stake.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from mirror.core.values.timestamp import NANOS_PER_DAY
from mirror.demo.world.accounts import HBAR, Account

# Tinybars a day for each hbar: 2.5 % a year.
MAX_REWARD_RATE = 6_849


@dataclass(frozen=True, slots=True)
class Stake:
    """The stake of an account when a period began (entity_stake). `node` is None for the rewards account.

    `total` is its balance with what others stake to it; `pending` is its reward that was not paid by then.
    """

    ended_day: int
    node: int | None
    staked_to_me: int
    total: int
    pending: int


@dataclass(frozen=True, slots=True)
class NodeStake:
    """The stake of a node in the period that begins, and its reward per hbar in the last one."""

    rewarded: int
    not_rewarded: int
    reward_rate: int


@dataclass
class Staking:
    """All stakes. `pending` are the rewards above 0 that accounts can be paid now."""

    stakes: dict[int, Stake] = field(default_factory=dict)
    pending: dict[int, int] = field(default_factory=dict)
    nodes: dict[int, NodeStake] = field(default_factory=dict)
    updates: list[int] = field(default_factory=list)  # consensus timestamps

    def due(self, touched: Iterable[int], accounts: dict[int, Account]) -> dict[int, int]:
        """Return the rewards that a transaction pays if it touches the balances of these accounts."""
        if not self.pending:
            return {}
        rewards: dict[int, int] = {}
        for number in touched:
            # The stake of the account it stakes to changes as well.
            for rewarded in (number, accounts[number].staked_account_id):
                if rewarded in self.pending:
                    rewards[rewarded] = self.pending[rewarded]
        return rewards

    def paid(self, rewards: Iterable[int], accounts: dict[int, Account], at: int) -> None:
        """Note that these accounts were paid their rewards."""
        for number in rewards:
            del self.pending[number]
            accounts[number].stake_period_start = at // NANOS_PER_DAY - 1

    def restart(self, account: Account, at: int) -> None:
        """Restart a stake that changed: it begins to earn at the next midnight."""
        self.pending.pop(account.number, None)
        account.stake_period_start = at // NANOS_PER_DAY

    def end_period(self, accounts: dict[int, Account], rates: dict[int, int], at: int, paying: int) -> None:
        """End the day before `at`, in which nodes earned these rates. The account `paying` pays rewards."""
        day = at // NANOS_PER_DAY - 1
        living = [account for account in accounts.values() if not account.deleted]
        staked_to: dict[int, int] = {}
        for account in living:
            stakee = account.staked_account_id
            if stakee is not None:
                staked_to[stakee] = staked_to.get(stakee, 0) + account.balance
        rewarded, not_rewarded = dict.fromkeys(rates, 0), dict.fromkeys(rates, 0)
        for account in living:
            number, node = account.number, account.staked_node_id
            if node is None:
                continue
            to_me = staked_to.get(number, 0)
            total = account.balance + to_me
            if account.decline_reward:
                not_rewarded[node] += total
                continue
            rewarded[node] += total
            pending = self.pending.get(number, 0) + self._earned(account, day, rates)
            if pending:
                self.pending[number] = pending
            self.stakes[number] = Stake(day, node, to_me, total, pending)
        self.stakes[paying] = Stake(day, None, staked_to.get(paying, 0), 0, 0)
        self.nodes = {
            node: NodeStake(rewarded[node], not_rewarded[node], rate) for node, rate in rates.items()
        }
        self.updates.append(at)

    def _earned(self, account: Account, day: int, rates: dict[int, int]) -> int:
        """Return what the stake at the beginning of the day earned by its end."""
        before = self.stakes.get(account.number)
        started = account.stake_period_start
        if before is None or before.node is None or started is None or started >= day:
            return 0
        return rates[before.node] * (before.total // HBAR)
