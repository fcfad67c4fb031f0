"""The fee schedule (file 0.0.111) and the exchange rate (0.0.112) in force at a time, and the price of gas.

Each file holds the current one and the next one, which counts once the current one has expired, unless it is
empty. Where there is no 0.0.111, the schedule is that of 0.0.113, which has one price of gas (HIP-1261).
"""

from collections.abc import Iterable
from typing import Any

from ledger.queries.cached_files import Cached
from ledger.queries.system_files import (
    EXCHANGE_RATES,
    FEE_SCHEDULE,
    SIMPLE_FEES,
    system_file,
    system_file_at_each,
)
from mirror.core.db.reading.query import Bounds
from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.values.hapi.messages import (
    CurrentAndNextFeeSchedule,
    DecodeError,
    ExchangeRateSet,
    FeeExtra,
    FeeSchedule,
)
from mirror.core.values.timestamp import NANOS_PER_SECOND

# A fee schedule states thousandths of a tinycent.
SCHEDULE_UNITS_PER_TINYCENT = 1000

#: The kinds of transactions that use gas, by their number in the fee schedule (HederaFunctionality).
WITH_GAS = {6: "ContractCall", 7: "ContractCreate", 84: "EthereumTransaction"}
_CONTRACT_CALL = 6
_HOUR_SECONDS = 3600
_NANOS_PER_HOUR = _HOUR_SECONDS * NANOS_PER_SECOND

_remembered = Cached[int, int]()


def fee_schedules(times: Bounds) -> tuple[Any, int] | None:
    """Return the last CurrentAndNextFeeSchedule within these times, and its time.

    Errors: psycopg.Error.
    """
    detailed = system_file(FEE_SCHEDULE, times, CurrentAndNextFeeSchedule.FromString)
    return detailed or system_file(SIMPLE_FEES, times, _of_simple_fees)


def _of_simple_fees(content: bytes) -> Any:
    """Return the CurrentAndNextFeeSchedule with the price of gas of a FeeSchedule. Errors: DecodeError."""
    simple: Any = FeeSchedule.FromString(content)
    types = [entry.name for service in simple.services for entry in service.schedule]
    if not types:
        raise DecodeError("a schedule of fees without entries")
    schedules: Any = CurrentAndNextFeeSchedule()
    for extra in simple.extras:
        if extra.name == FeeExtra.Value("GAS"):
            for number in filter(WITH_GAS.__contains__, types):
                entry = schedules.currentFeeSchedule.transactionFeeSchedule.add(hederaFunctionality=number)
                entry.fees.add().servicedata.gas = min(extra.fee * SCHEDULE_UNITS_PER_TINYCENT, MAX_INT64)
    return schedules


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
    if without := [at for at in times if at not in schedules]:
        schedules |= system_file_at_each(SIMPLE_FEES, without, _of_simple_fees)
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
