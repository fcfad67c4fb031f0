"""The price of a unit of gas, and the exchange rate.

Source: the fee schedule 0.0.111, or 0.0.113 where that is missing, and the exchange rate 0.0.112 in force at
the beginning of the hour. A version that can't be decoded is skipped.
"""

from ledger.queries import system_files
from ledger.queries.fee_schedules import fee_schedules, gas_of_schedule, rate_in_force, schedule_in_force
from mirror.core.db.reading.query import Bounds
from mirror.core.values.hapi.messages import ExchangeRateSet
from mirror.core.values.timestamp import NANOS_PER_SECOND
from web3sim.operations.prices import WITHOUT_FILES, Prices
from web3sim.state.blocks import SelectedBlock
from web3sim.state.cache import caches

_SECONDS_PER_HOUR = 3600


def prices(selected: SelectedBlock, now: int) -> Prices:
    """Return the prices now (ns), whatever the block. Errors: psycopg.Error.

    For calls on the current state they are read anew for each block: a new rate counts from its block on.
    """
    hour = _hour(now)
    number = selected.block.number if selected.state_time is None else None
    key = ("prices", hour, number)
    cached: Prices = caches().system_files.get_or_put(key, lambda: _prices(Bounds(), hour))
    return cached


def prices_at(time: int) -> Prices:
    """Return the prices at a time (ns) in the past. Errors: psycopg.Error."""
    return _prices(Bounds(upper=time), _hour(time))


def _hour(time: int) -> int:
    """Return the second in which the hour of a time (ns) began."""
    seconds = time // NANOS_PER_SECOND
    return seconds - seconds % _SECONDS_PER_HOUR


def _prices(times: Bounds, seconds: int) -> Prices:
    return Prices(_scheduled_price(times, seconds), *_rate(times, seconds))


def _scheduled_price(times: Bounds, seconds: int) -> int:
    """Return the price in the schedule, in thousandths of a tinycent."""
    version = fee_schedules(times)
    price = None if version is None else gas_of_schedule(schedule_in_force(version[0], seconds))
    return WITHOUT_FILES.scheduled if price is None else price


def _rate(times: Bounds, seconds: int) -> tuple[int, int]:
    """Return an amount of cents and the amount of hbars that is worth as much."""
    version = system_files.system_file(system_files.EXCHANGE_RATES, times, ExchangeRateSet.FromString)
    # A rate that ends as the hour begins is not the one of that hour.
    rate = None if version is None else rate_in_force(version[0], seconds + 1)
    return (
        (rate.centEquiv, rate.hbarEquiv)
        if rate is not None and rate.centEquiv > 0 and rate.hbarEquiv > 0
        else (WITHOUT_FILES.cents, WITHOUT_FILES.hbars)
    )
