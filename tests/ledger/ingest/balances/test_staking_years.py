"""Pending staking rewards over 800 periods, against a model that adds up what each period earned."""

import random
from dataclasses import dataclass, field

import pytest
from django.db import connection

from ledger.ingest.balances import staking_rewards
from ledger.ingest.balances.staking_rewards import compute_rewards
from tests.build import insert, time_range
from tests.upgrading import upgrade

pytestmark = pytest.mark.django_db

DAY, HBAR = 86_400 * 10**9, 10**8
FIRST, PERIODS, SNAPSHOT_PERIODS = 20_000, 800, 20
NODES = (0, 1)
#: Stakes from the first period on with nothing and never changes that; nobody stakes to it.
PATIENT = 1001


def end(period: int) -> int:
    """Return the time of the NODESTAKEUPDATE that ends a period."""
    return (period + 1) * DAY + 5


@dataclass
class Account:
    """What an account had at the end of each period, and how it staked: `since` is its stake period start."""

    id: int
    balances: list[int] = field(default_factory=list)
    nodes: list[int] = field(default_factory=list)
    since: list[int] = field(default_factory=list)
    staked_to: int = 0

    def stakes(self, others: list["Account"]) -> list[int]:
        """Return the whole hbars that count at the end of each period."""
        stakers = [self, *(other for other in others if other.staked_to == self.id)]
        return [sum(balances) // HBAR for balances in zip(*(each.balances for each in stakers), strict=True)]


def accounts(choose: random.Random) -> list[Account]:
    """Accounts with credits and debits, of which some change their node, and one that stakes to another."""
    made = [
        Account(PATIENT),
        *(Account(number) for number in range(1002, 1007)),
        Account(1007, staked_to=1002),
    ]
    for each in made:
        node, since, balance = choose.choice(NODES), FIRST, 0
        changes = 0 if each.id == PATIENT else choose.choice((0, 0.001, 0.005))
        for period in range(FIRST, FIRST + PERIODS):
            if period > FIRST and choose.random() < changes:
                node, since = choose.choice(NODES), period
            if choose.random() < (0.02 if each.id != PATIENT or period > FIRST + 2 else 0):
                balance = max(balance + choose.randrange(-3_000, 5_000) * HBAR // 7, 0)
            each.balances.append(balance)
            each.nodes.append(node)
            each.since.append(since)
    return made


def expected(account: Account, others: list[Account], rates: dict[tuple[int, int], int]) -> list[int]:
    """Return the pending reward at the end of each period: what the last 365 whole periods earned."""
    stakes, pending = account.stakes(others), []
    earned: dict[int, int] = {}
    for index, period in enumerate(range(FIRST, FIRST + PERIODS)):
        if index:
            earned[period] = stakes[index - 1] * rates[period, account.nodes[index]]
        since = account.since[index]
        pending.append(sum(earned[past] for past in range(max(since + 1, period - 364), period + 1)))
    return pending


def store(made: list[Account], rates: dict[tuple[int, int], int]) -> None:
    """Store what `compute_rewards` reads: versions of accounts, snapshots with transfers since, rates."""
    insert("entity", id=800, num=800, realm=0, shard=0, type="ACCOUNT", created_timestamp=0,
           timestamp_range=time_range(0), decline_reward=False, staked_node_id=-1)  # fmt: skip
    for each in made:
        begins = sorted(
            {0, *(index for index in range(1, PERIODS) if each.since[index] != each.since[index - 1])}
        )
        for begin, until in zip(begins, [*begins[1:], None], strict=True):
            times = time_range(begin and end(FIRST + begin) - 9, until and end(FIRST + until) - 9)
            insert(
                "entity_history" if until else "entity",
                **{"id": each.id, "num": each.id, "realm": 0, "shard": 0, "type": "ACCOUNT"},
                created_timestamp=0,
                timestamp_range=times,
                decline_reward=False,
                staked_node_id=-1 if each.staked_to else each.nodes[begin],
                staked_account_id=each.staked_to,
                stake_period_start=each.since[begin],
            )
    with connection.cursor() as cursor:
        for index, period in enumerate(range(FIRST, FIRST + PERIODS)):
            for node in NODES:
                row = (end(period), period, node, rates[period, node])
                cursor.execute(
                    "insert into node_stake (consensus_timestamp, epoch_day, node_id, reward_rate, stake,"
                    " stake_rewarded, staking_period, max_stake, min_stake, stake_not_rewarded)"
                    " values (%s, %s, %s, %s, 0, 0, 0, 0, 0, 0)",
                    row,
                )
            if index % SNAPSHOT_PERIODS == 0:
                balances = [(end(period), each.id, each.balances[index]) for each in made]
                cursor.executemany(
                    "insert into account_balance (consensus_timestamp, account_id, balance)"
                    " values (%s, %s, %s)",
                    [(end(period), 2, 0), *balances],
                )
                continue
            for each in made:
                amount = each.balances[index] - each.balances[index - 1]
                if amount:
                    cursor.execute(
                        "insert into crypto_transfer (consensus_timestamp, entity_id, amount,"
                        " payer_account_id) values (%s, %s, %s, 2)",
                        (end(period) - 7, each.id, amount),
                    )


def pending_rewards(account: int) -> dict[int, int]:
    with connection.cursor() as cursor:
        cursor.execute(
            "select end_stake_period, pending_reward from entity_stake where id = %s union all "
            "select end_stake_period, pending_reward from entity_stake_history where id = %s",
            [account, account],
        )
        return dict(cursor.fetchall())


@pytest.mark.parametrize(("seed", "statement"), [(1, "_STAKES"), (2, "_DISTRIBUTED_STAKES")])
def test_an_account_has_what_its_last_365_periods_earned(
    seed: int, statement: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(staking_rewards, "_STAKES", getattr(staking_rewards, statement))
    choose = random.Random(seed)
    made = accounts(choose)
    rates = {
        (period, node): choose.randrange(9) for period in range(FIRST, FIRST + PERIODS) for node in NODES
    }
    store(made, rates)

    with connection.cursor() as cursor:
        compute_rewards(cursor)

    rewards = {each.id: expected(each, made, rates) for each in made if not each.staked_to}
    for account, pending in rewards.items():
        assert pending_rewards(account) == dict(enumerate(pending, FIRST)), account
    # The upgrade finds the same for those who have staked for longer than 365 periods.
    with connection.cursor() as cursor:
        cursor.execute("update entity_stake set pending_reward = 7 where id = %s", [PATIENT])
    upgrade("long_stakes_rewards")
    assert {account: pending_rewards(account)[FIRST + PERIODS - 1] for account in rewards} == {
        account: pending[-1] for account, pending in rewards.items()
    }
