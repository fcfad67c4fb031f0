"""GET /api/v1/network/stake: the network's stake and its rewards.

Source: the latest network_stake. Amounts: int64 tinybars; rates in tinybars per hbar. Errors: 404 before the
first staking period.
"""

import struct
from decimal import ROUND_HALF_UP, Decimal
from typing import TypedDict

from ledger.api import not_loaded
from mirror.core.db.reading.sql import fetch_one
from mirror.core.rest.answers.records import Record
from mirror.core.rest.parameters import spring
from mirror.core.rest.views import SpringReadView
from mirror.core.values.json_types import Int64, TimestampRangeJson
from mirror.core.values.timestamp import NANOS_PER_DAY

_NINE_DECIMALS = Decimal("1e-9")
_FLOAT_DIGITS = 9  # that name every 32-bit float
_FRACTIONS = ("node_reward_fee_fraction", "staking_reward_fee_fraction")


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


STAKE = Record(
    StakeJson,
    spring=True,
    node_reward_fee_fraction="array[node_reward_fee_numerator, node_reward_fee_denominator]",
    staking_period=f"staking_period + 1, staking_period + 1 + {NANOS_PER_DAY}",
    staking_reward_fee_fraction="array[staking_reward_fee_numerator, staking_reward_fee_denominator]",
    written={name: lambda parts: fraction(*parts) for name in _FRACTIONS},
)


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

    parameters, max_age, answers = spring.NoParameters, 60, StakeJson

    def read(self, parameters: spring.NoParameters) -> StakeJson:
        # Index: the primary key (consensus_timestamp).
        latest = "from network_stake order by consensus_timestamp desc limit 1"
        row = not_loaded.found(fetch_one(f"select {STAKE.columns} {latest}"), "No network stake data found")
        return STAKE.json(row)
