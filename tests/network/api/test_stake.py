import pytest

from network.api.stake import fraction
from tests.api import assert_answer
from tests.build import SECOND, START, insert

URL = "/api/v1/network/stake"

DAY = 86_400 * SECOND


def stake(at=START, **columns):
    insert(
        "network_stake",
        **{
            "consensus_timestamp": at,
            "epoch_day": 19_675,
            "max_stake_rewarded": 11,
            "max_staking_reward_rate_per_hbar": 12,
            "max_total_reward": 13,
            "node_reward_fee_denominator": 3,
            "node_reward_fee_numerator": 1,
            "reserved_staking_rewards": 14,
            "reward_balance_threshold": 15,
            "stake_total": 2**62,
            "staking_period": 19_675 * DAY - 1,
            "staking_period_duration": 1440,
            "staking_periods_stored": 365,
            "staking_reward_fee_denominator": 0,
            "staking_reward_fee_numerator": 1,
            "staking_reward_rate": 16,
            "staking_start_threshold": 17,
            "unreserved_staking_reward_balance": 18,
        }
        | columns,
    )


def test_the_latest_stake_has_all_members_in_order(api, build):
    stake()
    stake(START - DAY, stake_total=1)
    answer = api.get(URL)
    expected = {
        "max_stake_rewarded": 11,
        "max_staking_reward_rate_per_hbar": 12,
        "max_total_reward": 13,
        "node_reward_fee_fraction": 0.33333334,
        "reserved_staking_rewards": 14,
        "reward_balance_threshold": 15,
        "stake_total": 2**62,
        "staking_period": {"from": "1699920000.000000000", "to": "1700006400.000000000"},
        "staking_period_duration": 1440,
        "staking_periods_stored": 365,
        "staking_reward_fee_fraction": 0.0,
        "staking_reward_rate": 16,
        "staking_start_threshold": 17,
        "unreserved_staking_reward_balance": 18,
    }
    assert_answer(answer, expected)
    assert answer.headers["cache-control"] == "public, max-age=60"
    assert len(answer.statements) == 1
    assert api.get(f"{URL}?limit=x&timestamp=y").json() == expected


@pytest.mark.parametrize(
    ("numerator", "denominator", "expected"),
    [
        (10, 100, 0.1),
        (2, 3, 0.6666667),
        (1, 1, 1.0),
        (1, 10**9, 1e-9),
        (5, 10**10, 1e-9),
        (4, 10**10, 0.0),
        (80, 100, 0.8),
        (5, 0, 0.0),
    ],
)
def test_a_fraction_has_nine_decimals_and_the_precision_of_a_32_bit_float(numerator, denominator, expected):
    assert fraction(numerator, denominator) == expected


def test_before_the_first_period_there_is_no_stake(api, build):
    answer = api.get(URL)
    problem = {"detail": "No network stake data found", "message": "Not Found"}
    assert (answer.status, answer.json()) == (404, {"_status": {"messages": [problem]}})


def test_a_period_that_begins_at_time_zero_is_written_as_spring_endpoints_write_it(api, build):
    stake(staking_period=-1)
    assert api.get(URL).json()["staking_period"] == {"from": "0.0", "to": "86400.000000000"}
