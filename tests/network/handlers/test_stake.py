"""The figures of a staking period."""

from typing import Any

import pytest

from tests.ledger.compose import DAY, INSUFFICIENT_PAYER_BALANCE, Stream, seconds
from tests.ledger.ingest.load import load, stored

pytestmark = pytest.mark.usefixtures("ledger_tables")

BODY = {
    "end_of_staking_period": seconds(99),
    "max_staking_reward_rate_per_hbar": 1,
    "node_reward_fee_fraction": {"numerator": 2, "denominator": 3},
    "staking_periods_stored": 365,
    "staking_period": 1440,
    "staking_reward_fee_fraction": {"numerator": 4, "denominator": 5},
    "staking_start_threshold": 6,
    "staking_reward_rate": 7,
    "reserved_staking_rewards": 8,
    "unreserved_staking_reward_balance": 9,
    "reward_balance_threshold": 10,
    "max_stake_rewarded": 11,
    "max_total_reward": 12,
}
NODES = [
    {
        "node_id": node,
        "max_stake": 100,
        "min_stake": 50,
        "reward_rate": 3,
        "stake": 70,
        "stake_rewarded": 60,
        "stake_not_rewarded": 10,
    }
    for node in (0, 1)
]
NETWORK = (
    "consensus_timestamp, epoch_day, stake_total, staking_period, staking_period_duration, "
    "staking_periods_stored, max_staking_reward_rate_per_hbar, node_reward_fee_numerator, "
    "node_reward_fee_denominator, staking_reward_fee_numerator, staking_reward_fee_denominator, "
    "staking_start_threshold, staking_reward_rate, reserved_staking_rewards, "
    "unreserved_staking_reward_balance, reward_balance_threshold, max_stake_rewarded, max_total_reward"
)


def update(stream: Stream, nodes: list[dict[str, Any]], **options: Any) -> int:
    return stream.happen("node_stake_update", BODY | {"node_stake": nodes}, **options)


@pytest.mark.checklist("STK-01", "STK-02")
def test_stakes_are_of_the_day_before() -> None:
    stream = Stream()
    at = update(stream, NODES)

    load(stream.block())

    day = at // DAY - 1
    assert stored("network_stake", NETWORK) == [
        (at, day, 140, 99, 1440, 365, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12)
    ]
    columns = (
        "consensus_timestamp, epoch_day, node_id, max_stake, min_stake, reward_rate, stake, "
        "stake_rewarded, stake_not_rewarded, staking_period"
    )
    assert stored("node_stake", columns) == [(at, day, node, 100, 50, 3, 70, 60, 10, 99) for node in (0, 1)]


@pytest.mark.checklist("STK-02")
def test_without_nodes_only_the_network_has_a_stake() -> None:
    stream = Stream()
    update(stream, [])

    load(stream.block())

    assert stored("network_stake", "stake_total") == [(0,)]
    assert stored("node_stake", "node_id") == []


@pytest.mark.checklist("STK-03")
def test_a_failed_update_writes_nothing() -> None:
    stream = Stream()
    update(stream, NODES, result=INSUFFICIENT_PAYER_BALANCE)

    load(stream.block())

    assert stored("network_stake", "stake_total") == []
    assert stored("node_stake", "node_id") == []
