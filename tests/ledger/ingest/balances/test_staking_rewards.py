"""Pending staking rewards of accounts, period by period."""

import random
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from hypothesis import HealthCheck, assume, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

from ledger.ingest.balances.staking_rewards import compute_rewards
from mirror.core.processes import signals
from mirror.core.values.hapi.messages import CryptoCreateTransactionBody
from mirror.demo.streams.record_files import Block
from tests.ledger.compose import DAY, Stream, num, seconds
from tests.ledger.ingest.load import load, load_in_any_batches, settings, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

FIRST_DAY = 20_100
HBAR = 100_000_000
STAKES = "id, end_stake_period, staked_node_id_start, staked_to_me, stake_total_start, pending_reward"


def midnight(day: int) -> int:
    return day * DAY


class Network(Stream):
    """Day by day: what happens in it, then the end of its period with the reward rate of node 0."""

    def __init__(self) -> None:
        super().__init__(start=midnight(FIRST_DAY) + 3600 * 10**9)
        self.blocks: list[Block] = []
        self.day = FIRST_DAY

    def account(self, number: int, balance: int, **staking: Any) -> None:
        self.create(number, balance, create=CryptoCreateTransactionBody(**staking))

    def stake(self, number: int, **staking: Any) -> int:
        return self.happen("cryptoUpdateAccount", {"accountIDToUpdate": num(number), **staking})

    def snapshot(self) -> None:
        """A snapshot, an hour after what happened before."""
        self.close()
        self.consensus_timestamp += 3600 * 10**9
        self.happen("uncheckedSubmit")
        self.close()

    def close(self) -> None:
        if self._transactions:
            self.blocks.append(self.block())

    def end_day(self, rate: int = 0, node: int = 0) -> int:
        """The period ends; returns its consensus timestamp."""
        self.close()
        self.day += 1
        self.consensus_timestamp = midnight(self.day) + 5
        at = self.happen(
            "node_stake_update",
            {
                "end_of_staking_period": seconds(midnight(self.day) - 1),
                "node_stake": [{"node_id": node, "reward_rate": rate}],
            },
        )
        self.close()
        return at

    def load(self) -> None:
        load_in_any_batches(*self.blocks)


def stakes(table: str = "entity_stake", account: int | None = None) -> list[tuple[Any, ...]]:
    return stored(table, STAKES, f"id = {account}" if account else "id <> 800")


@pytest.fixture
def network() -> Network:
    """The reward account exists, and account 1001 with 1000 hbar stakes to node 0."""
    made = Network()
    made.account(800, 0)
    made.account(1001, 1_000 * HBAR, staked_node_id=0)
    made.snapshot()
    return made


@pytest.mark.checklist("STK-04", "STK-05", "STK-09", "STK-11")
def test_a_whole_staked_period_earns_its_rate_per_hbar(network: Network) -> None:
    first = network.end_day(rate=3)
    second = network.end_day(rate=5)
    third = network.end_day(rate=7)

    network.load()

    total = 1_000 * HBAR
    assert stakes() == [(1001, FIRST_DAY + 2, 0, 0, total, 12_000)]
    assert stakes("entity_stake_history") == [
        (1001, FIRST_DAY, 0, 0, total, 0),
        (1001, FIRST_DAY + 1, 0, 0, total, 5_000),
    ]
    assert stored("entity_stake", "timestamp_range", "id = 1001") == [(f"[{third},)",)]
    assert stored("entity_stake_history", "timestamp_range", "id = 1001") == [
        (f"[{first},{second})",),
        (f"[{second},{third})",),
    ]
    assert stakes(account=800) == [(800, FIRST_DAY + 2, -1, 0, 0, 0)]


@pytest.mark.checklist("STK-10")
def test_a_stake_changed_in_the_period_loses_it(network: Network) -> None:
    network.end_day()
    network.end_day(rate=3)
    network.stake(1001, staked_node_id=0)
    network.end_day(rate=5)
    network.end_day(rate=7)

    network.load()

    pending = [row[-1] for row in (*stakes("entity_stake_history"), *stakes())]
    assert pending == [0, 3_000, 0, 7_000]


@pytest.mark.checklist("STK-10")
def test_a_node_without_a_rate_leaves_the_pending_reward(network: Network) -> None:
    network.end_day()
    network.end_day(rate=3)
    network.end_day(rate=99, node=1)

    network.load()

    assert stakes() == [(1001, FIRST_DAY + 2, 0, 0, 1_000 * HBAR, 3_000)]


@pytest.fixture
def after_a_year(network: Network) -> Callable[..., None]:
    """Computes the period that ends a year after the only one loaded, of which node 0 had a rate of 2."""
    ended = network.end_day(rate=2)
    network.load()
    day = FIRST_DAY + 366
    now = midnight(day + 1) + 5

    def compute(pending: int, rates: dict[int, int], sql: str = "", values: Sequence[Any] = ()) -> None:
        with transaction.atomic(), connection.cursor() as cursor:
            # Nothing happened for a year but updates, of which the last period's is yet to come.
            cursor.execute(
                "update entity_stake set end_stake_period = %s, pending_reward = %s", [day - 1, pending]
            )
            cursor.execute("update node_stake set epoch_day = epoch_day + 1")
            cursor.execute(
                "update account_balance set consensus_timestamp = consensus_timestamp + %s", [now - ended]
            )
            cursor.execute(sql or "select", values)
            for node, rate in rates.items():
                node_stake(cursor, day, node, rate)
            compute_rewards(cursor)

    return compute


def node_stake(cursor: CursorWrapper, day: int, node: int, rate: int) -> None:
    cursor.execute(
        "insert into node_stake (consensus_timestamp, epoch_day, node_id, reward_rate, stake, "
        "stake_rewarded, staking_period, max_stake, min_stake, stake_not_rewarded) "
        "values (%s, %s, %s, %s, 0, 0, 0, 0, 0, 0)",
        [midnight(day + 1) + 5, day, node, rate],
    )


def earlier_stake(hbars: int, begin: int, end: int) -> tuple[str, tuple[Any, ...]]:
    """A statement: between two times the stake of account 1001 was another."""
    return (
        "insert into entity_stake_history (id, end_stake_period, pending_reward, staked_node_id_start, "
        "staked_to_me, stake_total_start, timestamp_range) "
        "values (1001, 0, 0, 0, 0, %s, int8range(%s, %s))",
        (hbars * HBAR, begin, end),
    )


A_YEAR_AGO = midnight(FIRST_DAY + 1) + 5


@pytest.mark.checklist("STK-10")
def test_after_a_year_the_oldest_period_is_forfeited(after_a_year: Callable[..., None]) -> None:
    after_a_year(50_000, {0: 7})

    assert stakes() == [(1001, FIRST_DAY + 366, 0, 0, 1_000 * HBAR, 50_000 + 7_000 - 2_000)]


@pytest.mark.checklist("STK-13")
@pytest.mark.parametrize(
    ("begin", "end", "forfeited"),
    [(-DAY, DAY, 2 * 300), (-1, 0, 2 * 300), (-DAY, 0, 2 * 300), (0, DAY, 2 * 1_000), (1, DAY, 2 * 1_000)],
)
def test_what_is_forfeited_is_the_reward_of_the_stake_of_that_time(
    after_a_year: Callable[..., None], begin: int, end: int, forfeited: int
) -> None:
    after_a_year(50_000, {0: 7}, *earlier_stake(300, A_YEAR_AGO + begin, A_YEAR_AGO + end))

    assert stakes()[0][-1] == 50_000 + 7_000 - forfeited


@pytest.mark.checklist("STK-13")
def test_a_pending_reward_is_never_negative(after_a_year: Callable[..., None]) -> None:
    after_a_year(1_000, {0: 7}, *earlier_stake(100_000, A_YEAR_AGO - DAY, A_YEAR_AGO + DAY))

    assert stakes()[0][-1] == 0


@pytest.mark.checklist("STK-14")
@pytest.mark.parametrize(("days_ago", "pending"), [(365, 0), (364, 50_000), (1, 50_000)])
def test_the_reward_for_a_node_that_is_gone_for_a_year_is_lost(
    after_a_year: Callable[..., None], days_ago: int, pending: int
) -> None:
    after_a_year(50_000, {1: 7}, "update node_stake set epoch_day = %s", [FIRST_DAY + 366 - days_ago])

    assert stakes()[0][-1] == pending


@pytest.mark.checklist("STK-08", "STK-09")
def test_hbars_staked_to_an_account_earn_for_it(network: Network) -> None:
    network.account(1002, 50 * HBAR, staked_account_id=num(1001))
    network.account(1003, 60 * HBAR, staked_account_id=num(1001), decline_reward=True)
    network.account(1004, 70 * HBAR, staked_node_id=0, decline_reward=True)
    network.account(1005, 80 * HBAR)
    network.end_day()

    network.load()

    assert stakes() == [(1001, FIRST_DAY, 0, 110 * HBAR, 1_110 * HBAR, 0)]


@pytest.mark.checklist("STK-06")
def test_the_state_is_that_of_the_end_of_the_period(network: Network) -> None:
    """A change after the end, even in the same file, is one of the next period."""
    network.end_day()
    network.close()
    network.day += 1
    network.consensus_timestamp = midnight(network.day) + 5
    network.happen("node_stake_update", {"node_stake": [{"node_id": 0, "reward_rate": 3}]})
    network.stake(1001, staked_node_id=1)
    network.send({1001: -400 * HBAR, 1009: 400 * HBAR})
    network.close()

    network.load()

    assert stakes() == [(1001, FIRST_DAY + 1, 0, 0, 1_000 * HBAR, 3_000)]


@pytest.mark.checklist("STK-06", "STK-08")
def test_a_deleted_account_stakes_no_more(network: Network) -> None:
    network.account(1002, 5 * HBAR, staked_node_id=0)
    network.crypto_delete(1002, balance=5 * HBAR, fee=0)
    network.end_day()

    network.load()

    assert [row[0] for row in stakes()] == [1001]


@pytest.mark.checklist("STK-07")
def test_a_balance_is_the_snapshot_and_the_transfers_since(network: Network) -> None:
    network.send({1001: -200 * HBAR, 1009: 200 * HBAR})
    network.end_day()

    network.load()

    assert stakes() == [(1001, FIRST_DAY, 0, 0, 800 * HBAR, 0)]
    snapshots = stored("account_balance", "balance", "account_id = 1001")
    assert (1_000 * HBAR,) in snapshots


@pytest.mark.checklist("STK-12", "STK-05")
def test_without_a_snapshot_a_period_is_not_computed() -> None:
    network = Network()
    network.account(800, 0)
    network.account(1001, 1_000 * HBAR, staked_node_id=0)
    network.close()
    with settings(importer__parser__record__historicalBalance__enabled=False):
        network.end_day()
        network.load()

    assert stakes() == []


@pytest.mark.checklist("STK-05")
def test_without_the_reward_account_nothing_is_computed() -> None:
    network = Network()
    network.account(1001, 1_000 * HBAR, staked_node_id=0)
    network.snapshot()
    network.end_day()
    network.end_day()
    network.account(800, 0)
    network.end_day()

    network.load()

    assert stakes() == [(1001, FIRST_DAY + 2, 0, 0, 1_000 * HBAR, 0)]
    assert stakes("entity_stake_history") == []


@pytest.mark.checklist("STK-04")
def test_missed_periods_are_computed_at_the_next_start(network: Network) -> None:
    network.end_day()
    network.end_day(rate=3)
    with settings(persist__pendingReward=False):
        load(*network.blocks)
    assert stakes() == []

    load()

    assert stakes() == [(1001, FIRST_DAY + 1, 0, 0, 1_000 * HBAR, 3_000)]
    assert stakes("entity_stake_history") == [(1001, FIRST_DAY, 0, 0, 1_000 * HBAR, 0)]


def random_year(cursor: CursorWrapper, choose: random.Random) -> None:
    """Accounts that stake to nodes and to each other, and four periods of which none is computed."""
    accounts = choose.sample(range(1001, 1030), 12)
    days = [FIRST_DAY, *range(FIRST_DAY + 364, FIRST_DAY + 368)]
    for number in (2, 800, *accounts):
        staking = choose.choice(
            [{"staked_node_id": choose.randrange(2)}, {"staked_account_id": choose.choice(accounts)}]
        )
        cursor.execute(
            "insert into entity (id, num, realm, shard, type, created_timestamp, timestamp_range, "
            "decline_reward, staked_node_id, staked_account_id, stake_period_start) "
            "values (%s, %s, 0, 0, 'ACCOUNT', 0, '[0,)', %s, %s, %s, %s)",
            [
                number,
                number,
                choose.random() < 0.1,
                staking.get("staked_node_id", -1),
                staking.get("staked_account_id", 0),
                choose.choice([FIRST_DAY - 2, FIRST_DAY - 1, *days[:-1]]),
            ],
        )
        for day in days:
            cursor.execute(
                "insert into account_balance (consensus_timestamp, account_id, balance) values (%s, %s, %s)",
                [midnight(day + 1), number, choose.randrange(5_000 * HBAR)],
            )
    for day in days:
        for node in (0, 1):
            if day == FIRST_DAY or choose.random() < 0.8:
                node_stake(cursor, day, node, choose.randrange(5))


# Each example leaves the tables as they were.
@hypothesis_settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), size=st.integers(1, 13))
def test_rewards_are_the_same_whatever_the_size_of_chunks(ledger_tables: None, seed: int, size: int) -> None:
    tables = []
    for chunk in (500_000, size):
        changes = {f"importer__parser__record__entity__staking__{name}": value
                   for name, value in (("chunkSize", chunk), ("chunkDelay", 0.0))}  # fmt: skip
        with settings(**changes), transaction.atomic(), connection.cursor() as cursor:
            random_year(cursor, random.Random(seed))
            compute_rewards(cursor)
            tables.append((stakes(), stakes("entity_stake_history"), stakes(account=800)))
            transaction.set_rollback(True)

    # In a few random years nobody stakes, as with seed 78514.
    assume(tables[0][0] and tables[0][1])
    assert tables[0] == tables[1]


@pytest.mark.parametrize("accounts", [5, 6])
def test_chunks_are_computed_with_pauses_between_them(
    network: Network, monkeypatch: pytest.MonkeyPatch, accounts: int
) -> None:
    for number in range(1002, 1000 + accounts):
        network.account(number, 5 * HBAR, staked_node_id=0)
    pauses: list[float] = []
    monkeypatch.setattr(signals, "pause", pauses.append)
    with settings(
        importer__parser__record__entity__staking__chunkSize=3,
        importer__parser__record__entity__staking__chunkDelay=4.5,
    ):
        network.end_day()
        load(*network.blocks)

    assert len(stakes()) == accounts - 1
    assert pauses == [4.5]
