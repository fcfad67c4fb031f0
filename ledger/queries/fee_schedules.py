"""The fee schedule (file 0.0.111) and the exchange rate (0.0.112) in force at a time, and the price of gas.

Each file holds what is current and what follows it; the current one ends with its own expiry.
"""

from typing import Any

# A fee schedule states thousandths of a tinycent.
SCHEDULE_UNITS_PER_TINYCENT = 1000


def schedule_in_force(schedules: Any, seconds: int) -> Any:
    """Return the FeeSchedule of a CurrentAndNextFeeSchedule that counts at a time in seconds."""
    current = schedules.currentFeeSchedule
    expired = seconds > current.expiryTime.seconds
    return schedules.nextFeeSchedule if expired and schedules.HasField("nextFeeSchedule") else current


def rate_in_force(rates: Any, seconds: int) -> Any:
    """Return the ExchangeRate of an ExchangeRateSet that counts at a time in seconds."""
    current = rates.currentRate
    expired = seconds > current.expirationTime.seconds
    return rates.nextRate if expired and rates.HasField("nextRate") else current
