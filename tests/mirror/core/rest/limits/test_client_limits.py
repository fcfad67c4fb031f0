"""Clients may make so many requests per second, counted by all processes together."""

import multiprocessing
import time
from collections.abc import Callable

import pytest

from mirror.core.rest.limits.buckets import SharedBuckets
from mirror.core.rest.limits.client_limits import ClientLimits, configured
from mirror.core.rest.limits.clients import Client


class Clock:
    """A clock that a test moves."""

    now = 5000.0

    def __call__(self) -> float:
        return self.now


def limits_of(rate: int, burst: int, clock: Callable[[], float] | None = None) -> ClientLimits:
    return ClientLimits("test", rate, burst, SharedBuckets(None, clock or Clock()))


def admitted(limits: ClientLimits, client: str, count: int) -> list[bool]:
    return [not limits.take(Client.of(client)).wait_seconds for _ in range(count)]


def test_a_client_may_make_a_burst_and_then_so_many_requests_per_second():
    clock = Clock()
    limits = limits_of(2, 4, clock)
    assert admitted(limits, "192.0.2.7", 6) == [True] * 4 + [False] * 2

    clock.now += 0.5
    assert admitted(limits, "192.0.2.7", 2) == [True, False]
    clock.now += 1.0
    assert admitted(limits, "192.0.2.7", 3) == [True, True, False]
    clock.now += 60.0
    assert admitted(limits, "192.0.2.7", 5) == [True] * 4 + [False]


def test_answers_say_how_much_is_left_and_when_to_ask_again():
    limits = limits_of(2, 4)
    verdicts = [limits.take(Client.of("192.0.2.7")) for _ in range(5)]

    assert [dict(limits.headers(each))["ratelimit"] for each in verdicts] == [
        '"client";r=3;t=1',
        '"client";r=2;t=1',
        '"client";r=1;t=2',
        '"client";r=0;t=2',
        '"client";r=0;t=2',
    ]
    assert dict(limits.headers(verdicts[0]))["ratelimit-policy"] == '"client";q=4;w=2'
    assert [each.wait_seconds for each in verdicts] == [0, 0, 0, 0, 1]


def test_without_a_burst_of_its_own_it_is_what_a_second_brings():
    limits = limits_of(3, 0)

    assert admitted(limits, "192.0.2.7", 4) == [True] * 3 + [False]
    assert limits.policy == '"client";q=3;w=1'


def test_limits_of_one_name_are_counted_together_and_clients_apart(tmp_path):
    clock = Clock()
    one, other = (ClientLimits("test", 2, 4, SharedBuckets(tmp_path / "throttle", clock)) for _ in range(2))
    assert admitted(one, "192.0.2.7", 3) == [True] * 3

    assert admitted(other, "192.0.2.7", 2) == [True, False]
    assert admitted(other, "192.0.2.8", 4) == [True] * 4


def test_costly_request_counts_as_several():
    limits = limits_of(2, 4)
    assert limits.take(Client(1), 3).remaining == 1

    assert limits.take(Client(1), 3).wait_seconds == 1
    assert limits.take(Client(1), 1).wait_seconds == 0


def test_the_addresses_of_a_network_of_ipv6_are_one_client():
    limits = limits_of(2, 2)
    assert admitted(limits, "2001:db8:0:1::1", 2) == [True] * 2

    assert admitted(limits, "2001:db8:0:1:ffff::2", 1) == [False]
    assert admitted(limits, "2001:db8:0:2::1", 1) == [True]


def test_more_clients_than_there_is_room_for_are_admitted():
    limits = limits_of(2, 4)
    for number in range(100_000):
        assert limits.take(Client(number)).wait_seconds == 0


@pytest.mark.parametrize(
    ("environment", "is_counted"),
    [
        ({}, True),
        ({"REMOTE_ADDR": "10.1.2.3"}, False),
        # The header of an untrusted client exempts nothing.
        ({"HTTP_X_FORWARDED_FOR": "10.1.2.3"}, True),
    ],
)
def test_exempt_clients_have_no_limit(settings_of, environment, is_counted):
    settings_of({"rest.rateLimit.exempt": ("10.0.0.0/8",)})

    assert (limits_of(2, 4).verdict({"REMOTE_ADDR": "192.0.2.7"} | environment) is not None) is is_counted


def test_forked_processes_count_together(settings_of, settings, tmp_path):
    settings.DATA_DIR = tmp_path
    settings_of({"rest.rateLimit.requestsPerSecond": 50})
    limits = configured()
    assert limits is not None
    began = time.monotonic()
    fork = multiprocessing.get_context("fork")
    counts = fork.SimpleQueue()
    for _ in range(2):
        fork.Process(target=lambda: counts.put(sum(admitted(limits, "192.0.2.7", 200)))).start()
    count = counts.get() + counts.get()
    assert 50 <= count <= 50 * (1 + time.monotonic() - began) + 1


def test_there_is_no_limit_by_default():
    assert configured() is None
