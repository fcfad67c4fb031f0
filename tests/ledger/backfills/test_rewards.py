"""Pending rewards of long-term stakers, and of stakers to nodes that are gone."""

import pytest
from django.db import connection

from tests.build import Build, insert, time_range
from tests.upgrading import upgrade

pytestmark = pytest.mark.django_db

DAY = 86_400 * 10**9
LAST = 1000
NODE, ACCOUNT = 3, 1001


def end(day: int) -> int:
    """Return the time of the NODESTAKEUPDATE that ends a period."""
    return (day + 1) * DAY + 5


def node(first: int, last: int, rate: int = 10) -> None:
    for day in range(first, last + 1):
        insert(
            "node_stake",
            consensus_timestamp=end(day),
            epoch_day=day,
            node_id=NODE,
            reward_rate=rate,
            stake=0,
            stake_rewarded=0,
            staking_period=end(day) - 5,
            max_stake=0,
            min_stake=0,
            stake_not_rewarded=0,
        )


def staker(pending: int, *, since: int, stake: int, account: int = ACCOUNT) -> None:
    Build().entity(account, staked_node_id=NODE, stake_period_start=since)
    stored("entity_stake", pending, stake, end(LAST), account)


def stored(table: str, pending: int, stake: int, begin: int, account: int, until: int | None = None) -> None:
    insert(
        table,
        id=account,
        end_stake_period=LAST,
        pending_reward=pending,
        staked_node_id_start=NODE,
        staked_to_me=0,
        stake_total_start=stake,
        timestamp_range=time_range(begin, until),
    )


def pending() -> list[int]:
    with connection.cursor() as cursor:
        cursor.execute("select pending_reward from entity_stake order by id")
        return [reward for (reward,) in cursor.fetchall()]


def test_an_account_keeps_the_rewards_of_its_last_365_periods() -> None:
    node(LAST - 500, LAST)
    staker(99_999, since=LAST - 500, stake=7 * 10**8 + 5)

    (state,) = upgrade("long_stakes_rewards")

    assert pending() == [365 * 7 * 10]
    assert state.rows == 1


def test_each_period_is_valued_by_the_stake_of_that_period() -> None:
    node(LAST - 500, LAST)
    staker(1, since=LAST - 500, stake=2 * 10**8)
    stored("entity_stake_history", 0, 9 * 10**8, end(LAST - 9), ACCOUNT, end(LAST - 4))
    stored("entity_stake_history", 0, 5 * 10**8, end(LAST - 4), ACCOUNT, end(LAST))

    upgrade("long_stakes_rewards")

    # Five periods with 9 hbar, four with 5, and what has no version counts as today's.
    assert pending() == [5 * 90 + 4 * 50 + 356 * 20]


def test_the_last_period_is_valued_by_the_stake_at_its_start() -> None:
    node(LAST - 500, LAST - 1)
    node(LAST, LAST, rate=1_000)
    staker(1, since=LAST - 500, stake=2 * 10**8)
    stored("entity_stake_history", 0, 9 * 10**8, end(LAST - 1), ACCOUNT, end(LAST))

    upgrade("long_stakes_rewards")

    assert pending() == [9 * 1_000 + 364 * 20]


def test_who_has_not_staked_for_longer_than_365_days_keeps_what_is_stored() -> None:
    node(LAST - 500, LAST)
    staker(1234, since=LAST - 365, stake=10**8)

    assert upgrade("long_stakes_rewards")[0].rows == 0
    assert pending() == [1234]


@pytest.mark.parametrize(("last", "left"), [(LAST - 365, 0), (LAST - 364, 1234)])
def test_the_reward_from_a_node_that_is_gone_for_365_periods_is_lost(last: int, left: int) -> None:
    node(last - 3, last)
    staker(1234, since=LAST - 10, stake=10**8)

    upgrade("gone_nodes_rewards")

    assert pending() == [left]
