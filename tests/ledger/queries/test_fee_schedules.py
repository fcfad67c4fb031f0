"""The fee schedule and the exchange rate in force."""

import pytest

from ledger.queries.fee_schedules import rate_in_force, schedule_in_force
from mirror.core.values.hapi.messages import CurrentAndNextFeeSchedule, ExchangeRateSet

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
