"""The fee schedule (file 0.0.111) and the exchange rate (0.0.112) in force at a time, and the price of gas.

Each file holds the current one and the next one, which counts once the current one has expired, unless it is
empty.
"""

from collections.abc import Iterable
from typing import Any

from ledger.queries.cached_files import Cached
from ledger.queries.system_files import EXCHANGE_RATES, FEE_SCHEDULE, system_file_at_each
from mirror.core.values.hapi.messages import CurrentAndNextFeeSchedule, ExchangeRateSet
from mirror.core.values.timestamp import NANOS_PER_SECOND

# A fee schedule states thousandths of a tinycent.
SCHEDULE_UNITS_PER_TINYCENT = 1000

_CONTRACT_CALL = 6  # the HederaFunctionality
_HOUR_SECONDS = 3600
_NANOS_PER_HOUR = _HOUR_SECONDS * NANOS_PER_SECOND

_remembered = Cached[int, int]()


def schedule_in_force(schedules: Any, seconds: int) -> Any:
    """Return the FeeSchedule of a CurrentAndNextFeeSchedule that counts at a time in seconds."""
    current = schedules.currentFeeSchedule
    expired = seconds > current.expiryTime.seconds
    following = schedules.nextFeeSchedule
    return following if expired and following.transactionFeeSchedule else current


def rate_in_force(rates: Any, seconds: int) -> Any:
    """Return the ExchangeRate of an ExchangeRateSet that counts at a time in seconds."""
    current = rates.currentRate
    expired = seconds > current.expirationTime.seconds
    return rates.nextRate if expired and rates.HasField("nextRate") else current


def gas_prices(times: Iterable[int]) -> dict[int, int | None]:
    """Return the price of gas of a contract call at each of these times (ns): tinybars per unit, at least 1.

    It is None where the files can't be read. One price counts for an hour, and is remembered.
    """
    hours = {timestamp: timestamp // _NANOS_PER_HOUR for timestamp in times}
    first_times: dict[int, int] = {}  # by hour
    for timestamp, hour in hours.items():
        first_times.setdefault(hour, timestamp)
    prices = _remembered.take(first_times)
    missing = [timestamp for hour, timestamp in first_times.items() if hour not in prices]
    if missing:
        read = {timestamp // _NANOS_PER_HOUR: price for timestamp, price in _read(missing).items()}
        _remembered.put(read)
        prices |= read
    return {timestamp: prices[hour] for timestamp, hour in hours.items()}


def _read(times: list[int]) -> dict[int, int | None]:
    schedules = system_file_at_each(FEE_SCHEDULE, times, CurrentAndNextFeeSchedule.FromString)
    rates = system_file_at_each(EXCHANGE_RATES, times, ExchangeRateSet.FromString) if schedules else {}
    return {at: _price(schedules.get(at), rates.get(at), at // _NANOS_PER_HOUR) for at in times}


def _price(schedules: Any | None, rates: Any | None, hour: int) -> int | None:
    if schedules is None or rates is None:
        return None
    seconds = hour * _HOUR_SECONDS
    gas = gas_of_schedule(schedule_in_force(schedules, seconds))
    rate = rate_in_force(rates, seconds)
    if gas is None or not rate.centEquiv:
        return None
    return max(int(gas * rate.hbarEquiv // (rate.centEquiv * SCHEDULE_UNITS_PER_TINYCENT)), 1)


def gas_of_schedule(schedule: Any) -> int | None:
    """Return the schedule's price of a unit of gas of a contract call; None if it has none."""
    for entry in schedule.transactionFeeSchedule:
        if entry.hederaFunctionality == _CONTRACT_CALL:
            has_price = entry.fees and entry.fees[0].HasField("servicedata")
            return int(entry.fees[0].servicedata.gas) if has_price else None
    return None


#: Look every price up again.
forget = _remembered.forget
