"""GET /api/v1/network/stake: the network's stake and its rewards.

Source: the latest network_stake. Amounts: int64 tinybars; rates in tinybars per hbar. Errors: 404 before the
first staking period.
"""

import struct
from decimal import ROUND_HALF_UP, Decimal
from typing import NamedTuple, TypedDict

from mirror.core.db.reading.sql import fetch_one
from mirror.core.rest.answers import not_loaded
from mirror.core.rest.answers.errors import NotFound
from mirror.core.rest.answers.views import SpringReadView
from mirror.core.rest.parameters.spring import SpringParameterSet
from mirror.core.values.json_types import Int64, TimestampRangeJson
from mirror.core.values.timestamp import spring_staking_period_json

_NINE_DECIMALS = Decimal("1e-9")
_FLOAT_DIGITS = 9  # that name every 32-bit float


# PARAMETERS
class StakeParameters(SpringParameterSet):
    """No parameters; the query string is ignored."""


# QUERY
class Stakes(NamedTuple):
    """A row of network_stake."""

    max_stake_rewarded: int
    max_staking_reward_rate_per_hbar: int
    max_total_reward: int
    node_reward_fee_numerator: int
    node_reward_fee_denominator: int
    reserved_staking_rewards: int
    reward_balance_threshold: int
    stake_total: int
    staking_period: int
    staking_period_duration: int
    staking_periods_stored: int
    staking_reward_fee_numerator: int
    staking_reward_fee_denominator: int
    staking_reward_rate: int
    staking_start_threshold: int
    unreserved_staking_reward_balance: int


def latest() -> Stakes | None:
    # Index: the primary key (consensus_timestamp).
    columns = ", ".join(Stakes._fields)
    row = fetch_one(f"select {columns} from network_stake order by consensus_timestamp desc limit 1")
    return None if row is None else Stakes(*row)


# JSON
class StakeJson(TypedDict):
    max_stake_rewarded: Int64
    max_staking_reward_rate_per_hbar: Int64
    max_total_reward: Int64
    node_reward_fee_fraction: float
    reserved_staking_rewards: Int64
    reward_balance_threshold: Int64
    stake_total: Int64
    staking_period: TimestampRangeJson
    staking_period_duration: Int64
    staking_periods_stored: Int64
    staking_reward_fee_fraction: float
    staking_reward_rate: Int64
    staking_start_threshold: Int64
    unreserved_staking_reward_balance: Int64


def stake_json(stakes: Stakes) -> StakeJson:
    return {
        "max_stake_rewarded": stakes.max_stake_rewarded,
        "max_staking_reward_rate_per_hbar": stakes.max_staking_reward_rate_per_hbar,
        "max_total_reward": stakes.max_total_reward,
        "node_reward_fee_fraction": fraction(
            stakes.node_reward_fee_numerator, stakes.node_reward_fee_denominator
        ),
        "reserved_staking_rewards": stakes.reserved_staking_rewards,
        "reward_balance_threshold": stakes.reward_balance_threshold,
        "stake_total": stakes.stake_total,
        "staking_period": spring_staking_period_json(stakes.staking_period),
        "staking_period_duration": stakes.staking_period_duration,
        "staking_periods_stored": stakes.staking_periods_stored,
        "staking_reward_fee_fraction": fraction(
            stakes.staking_reward_fee_numerator, stakes.staking_reward_fee_denominator
        ),
        "staking_reward_rate": stakes.staking_reward_rate,
        "staking_start_threshold": stakes.staking_start_threshold,
        "unreserved_staking_reward_balance": stakes.unreserved_staking_reward_balance,
    }


def fraction(numerator: int, denominator: int) -> float:
    """Return the quotient with nine decimals, as precise as a 32-bit float; 0 for a denominator of 0."""
    if denominator == 0:
        return 0.0
    exact = (Decimal(numerator) / Decimal(denominator)).quantize(_NINE_DECIMALS, ROUND_HALF_UP)
    single = _as_single(float(exact))
    for digits in range(1, _FLOAT_DIGITS):
        shortest = float(f"{single:.{digits}g}")
        if _as_single(shortest) == single:
            return shortest
    return float(f"{single:.{_FLOAT_DIGITS}g}")


def _as_single(number: float) -> float:
    found: float = struct.unpack("f", struct.pack("f", number))[0]
    return found


# VIEW
class Stake(SpringReadView):
    """Get the staking figures of the network.

    The stakes, the rates and limits of rewards, and the staking period.
    """

    parameters, max_age, answers = StakeParameters, 60, StakeJson

    def read(self, parameters: StakeParameters) -> StakeJson:
        stake = latest()
        if stake is None:
            raise NotFound("No network stake data found", detail=not_loaded.entity())
        return stake_json(stake)
