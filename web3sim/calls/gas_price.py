"""The price of a unit of gas.

Source: the fee schedule 0.0.111 and the exchange rate 0.0.112 that are in force at the beginning of the hour.
A version that can't be decoded is passed over.
"""

from ledger.queries import system_files
from ledger.queries.fee_schedules import (
    SCHEDULE_UNITS_PER_TINYCENT,
    gas_of_schedule,
    rate_in_force,
    schedule_in_force,
)
from mirror import config
from mirror.config import clock
from mirror.db.bounds import Bounds
from mirror.values.hapi import CurrentAndNextFeeSchedule, ExchangeRateSet
from mirror.values.timestamp import NANOS_PER_SECOND
from web3sim.state.blocks import SelectedBlock
from web3sim.state.cache import caches

_SECONDS_PER_HOUR = 3600

# Where the files are missing: 852 tinycents, at 12 cents for an hbar. A schedule counts in thousandths of a
# tinycent.
_PRICE_WITHOUT_SCHEDULE = 852_000
_CENTS, _HBARS = 12, 1

_ATTEMPTS = "web3.evm.maxFileAttempts"


def gas_price(selected: SelectedBlock) -> int:
    """Return the tinybars per unit of gas now, at least one, whatever the block. Errors: psycopg.Error.

    For calls on the current state it is computed anew for each block: a new rate counts from its block on.
    """
    hour = _hour(clock.now_ns())
    number = selected.block.number if selected.state_time is None else None
    key = ("gas price", hour, number)
    return caches().system_files.get_or_put(key, lambda: _price(Bounds(), hour))


def gas_price_at(time: int) -> int:
    """Return the tinybars per unit of gas at a time (ns) in the past, at least one. Errors: psycopg.Error."""
    return _price(Bounds(upper=time), _hour(time))


def _hour(time: int) -> int:
    """Return the second in which the hour of a time (ns) began."""
    seconds = time // NANOS_PER_SECOND
    return seconds - seconds % _SECONDS_PER_HOUR


def _price(times: Bounds, seconds: int) -> int:
    cents, hbars = _rate(times, seconds)
    return max(_scheduled(times, seconds) * hbars // (cents * SCHEDULE_UNITS_PER_TINYCENT), 1)


def _scheduled(times: Bounds, seconds: int) -> int:
    """Return the price in the schedule, in thousandths of a tinycent."""
    version = system_files.system_file(
        system_files.FEE_SCHEDULE,
        times,
        CurrentAndNextFeeSchedule.FromString,
        attempts=config.value(_ATTEMPTS),
    )
    price = None if version is None else gas_of_schedule(schedule_in_force(version[0], seconds))
    return _PRICE_WITHOUT_SCHEDULE if price is None else price


def _rate(times: Bounds, seconds: int) -> tuple[int, int]:
    """Return an amount of cents and the amount of hbars that is worth as much."""
    version = system_files.system_file(
        system_files.EXCHANGE_RATES, times, ExchangeRateSet.FromString, attempts=config.value(_ATTEMPTS)
    )
    rate = None if version is None else rate_in_force(version[0], seconds)
    return (rate.centEquiv, rate.hbarEquiv) if rate is not None and rate.centEquiv > 0 else (_CENTS, _HBARS)
