"""The fee schedule and the exchange rate in force."""

from typing import Any

import pytest

from ledger.queries.fee_schedules import gas_prices, rate_in_force, schedule_in_force
from mirror.core.values.hapi.messages import CurrentAndNextFeeSchedule, ExchangeRateSet, FeeExtra, FeeSchedule
from mirror.core.values.timestamp import NANOS_PER_SECOND
from tests.build import START
from tests.network.files import fee_schedule, part, rates

EXPIRY = 1_700_003_600


@pytest.mark.parametrize(
    ("seconds", "current"), [(0, True), (EXPIRY, True), (EXPIRY + 1, False), (EXPIRY + 10**6, False)]
)
def test_the_next_one_counts_after_the_expiry_of_the_current_one(seconds, current):
    schedules = CurrentAndNextFeeSchedule()
    schedules.currentFeeSchedule.expiryTime.seconds = EXPIRY
    schedules.nextFeeSchedule.expiryTime.seconds = EXPIRY + 1
    schedules.nextFeeSchedule.transactionFeeSchedule.add()
    rates = ExchangeRateSet()
    rates.currentRate.expirationTime.seconds = EXPIRY
    rates.nextRate.expirationTime.seconds = EXPIRY + 1

    assert schedule_in_force(schedules, seconds).expiryTime.seconds == EXPIRY + (not current)
    assert rate_in_force(rates, seconds).expirationTime.seconds == EXPIRY + (not current)


def test_without_a_next_one_the_current_one_goes_on():
    schedules = CurrentAndNextFeeSchedule(currentFeeSchedule={"expiryTime": {"seconds": 1}})
    rates = ExchangeRateSet(currentRate={"centEquiv": 12})

    assert schedule_in_force(schedules, EXPIRY) == schedules.currentFeeSchedule
    schedules.nextFeeSchedule.expiryTime.seconds = EXPIRY
    assert schedule_in_force(schedules, EXPIRY) == schedules.currentFeeSchedule
    assert rate_in_force(rates, EXPIRY).centEquiv == 12


def test_the_price_of_gas_is_that_of_the_schedule_that_there_was(build):
    """0.0.113 where 0.0.111 is missing: before it came, and after it was deleted."""
    hour = 3600 * NANOS_PER_SECOND
    simple: Any = FeeSchedule(extras=[{"name": FeeExtra.Value("GAS"), "fee": 240}])
    simple.services.add().schedule.add(name=6)
    part(113, simple.SerializeToString(), at=START)
    part(112, rates(12, expires=4_000_000_000), at=START + 1)
    part(111, fee_schedule((6, 24_000), expires=4_000_000_000), at=START + hour)
    build.entity(111, type="FILE", deleted=True, timestamp_range=f"[{START + 3 * hour},)")

    times = [START + number * hour + 2 for number in range(5)]

    assert list(gas_prices(times).values()) == [20, 2, 2, 20, 20]
    assert gas_prices([START - hour]) == {START - hour: None}
