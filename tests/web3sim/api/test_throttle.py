"""The limits on requests and gas, and what is given back."""

import pytest

from mirror.core.rest.limits.buckets import SharedBuckets
from mirror.core.rest.limits.clients import Client
from web3sim.api import throttle
from web3sim.api.throttle import Throttled, admit, admit_trace, restore, unused

REQUESTS, GAS = "Requests per second rate limit exceeded", "Gas per second rate limit exceeded."


def refused(buckets: SharedBuckets, gas: int) -> str:
    with pytest.raises(Throttled) as error:
        admit(buckets, gas)
    return str(error.value)


def test_two_refusals_differ():
    assert (throttle.REQUESTS_EXCEEDED, throttle.GAS_EXCEEDED) == (REQUESTS, GAS)


def test_requests_are_limited(still, settings_of):
    settings_of({"web3.throttle.requestsPerSecond": 2})
    admit(still, 21_000)
    admit(still, 21_000)
    assert refused(still, 21_000) == REQUESTS


def test_gas_is_limited_and_a_refusal_takes_no_request(still, settings_of):
    settings_of({"web3.throttle.requestsPerSecond": 2, "web3.throttle.gasPerSecond": 50_000})
    admit(still, 30_000)
    assert refused(still, 30_000) == GAS
    admit(still, 20_000)
    assert refused(still, 0) == REQUESTS


def test_a_call_that_is_withdrawn_takes_nothing(still, settings_of):
    settings_of(
        {
            "web3.throttle.requestsPerSecond": 1,
            "web3.throttle.gasPerSecond": 50_000,
            # None of the gas of a call that ran.
            "web3.throttle.gasLimitRefundPercent": 0,
        }
    )
    for _ in range(3):
        admit(still, 50_000)
        throttle.withdraw(still, 50_000)


def test_a_trace_that_is_refused_or_withdrawn_takes_nothing(still, settings_of):
    settings_of({"web3.throttle.requestsPerSecond": 1, "web3.throttle.opcodeRequestsPerSecond": 2})
    for _ in range(3):
        admit_trace(still)
        throttle.withdraw_trace(still)
    admit(still, 0)
    for _ in range(3):
        with pytest.raises(Throttled):
            admit_trace(still)
    still.add_tokens("requests", 1, 1)
    admit_trace(still)


def test_a_client_leaves_requests_and_gas_to_another(still, settings_of):
    settings_of({"web3.throttle.requestsPerSecond": 10, "web3.throttle.gasPerSecond": 100_000})
    one, other = Client(1), Client(2)
    admit(still, 100_000, one)
    with pytest.raises(Throttled, match=GAS):
        admit(still, 10_000, other)
    restore(still, 100_000)
    admit(still, 60_000, one)
    admit(still, 30_000, one)
    with pytest.raises(Throttled, match=GAS):
        admit(still, 30_000, one)
    admit(still, 10_000, other)


def test_what_is_given_back_can_be_used_again(still, settings_of):
    settings_of({"web3.throttle.gasPerSecond": 50_000})
    admit(still, 50_000)
    restore(still, 29_000)
    assert refused(still, 30_000) == GAS
    admit(still, 29_000)


def test_gas_is_counted_in_units(still, settings_of):
    settings_of({"web3.throttle.gasPerSecond": 3, "web3.throttle.gasUnit": 10_000})
    # One unit or less costs nothing.
    for _ in range(10):
        admit(still, 10_000)
    admit(still, 29_999)
    assert refused(still, 20_000) == GAS
    admit(still, 10_001)
    restore(still, 9_999)
    assert refused(still, 10_001) == GAS
    restore(still, 10_001)
    admit(still, 10_001)


@pytest.mark.parametrize(
    ("percent", "gas", "used", "succeeded", "expected"),
    [
        (100, 100_000, 30_000, True, 70_000),
        (100, 100_000, 30_000, False, 70_000),
        (100, 100_000, 100_000, True, 0),
        (100, 100_000, 100_000, False, 100_000),
        (100, 100_000, None, False, 100_000),
        (50, 100_000, 30_000, True, 50_000),
        (50, 100_000, 80_000, True, 20_000),
        (50, 100_000, 100_000, False, 50_000),
        (50, 99_999, None, False, 49_999),
        (0, 100_000, 30_000, True, 0),
        (100, 100_000, 120_000, True, 0),
    ],
)
def test_unused_gas_is_given_back_up_to_a_share(percent, gas, used, succeeded, expected, settings_of):
    settings_of({"web3.throttle.gasLimitRefundPercent": percent})
    assert unused(gas, used, succeeded) == expected
