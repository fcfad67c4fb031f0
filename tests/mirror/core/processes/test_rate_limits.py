"""Clients may make so many requests per second, counted by all processes together."""

import os

import pytest

from mirror.core.processes import rate_limits
from mirror.core.processes.rate_limits import RateLimits


@pytest.fixture
def file():
    made = rate_limits.create_memory()
    yield made
    os.close(made)


class Clock:
    """A clock that a test moves."""

    now = 5000.0

    def __call__(self) -> float:
        return self.now


def admitted(limits: RateLimits, client: str, count: int) -> list[bool]:
    return [limits.take(client).admitted for _ in range(count)]


def test_a_client_may_make_a_burst_and_then_so_many_requests_per_second(file):
    clock = Clock()
    limits = RateLimits(2, 4, file, clock)
    assert admitted(limits, "192.0.2.7", 6) == [True] * 4 + [False] * 2

    clock.now += 0.5
    assert admitted(limits, "192.0.2.7", 2) == [True, False]
    clock.now += 1.0
    assert admitted(limits, "192.0.2.7", 3) == [True, True, False]
    clock.now += 60.0
    assert admitted(limits, "192.0.2.7", 5) == [True] * 4 + [False]


def test_answers_say_how_much_is_left_and_when_to_ask_again(file):
    limits = RateLimits(2, 4, file, Clock())
    verdicts = [limits.take("192.0.2.7") for _ in range(5)]

    assert [dict(limits.headers(each))["ratelimit"] for each in verdicts] == [
        '"client";r=3;t=1',
        '"client";r=2;t=1',
        '"client";r=1;t=2',
        '"client";r=0;t=2',
        '"client";r=0;t=2',
    ]
    assert dict(limits.headers(verdicts[0]))["ratelimit-policy"] == '"client";q=4;w=2'
    assert [each.retry_seconds for each in verdicts] == [0, 0, 0, 0, 1]


def test_without_a_burst_of_its_own_it_is_what_a_second_brings(file):
    limits = RateLimits(3, 0, file, Clock())

    assert admitted(limits, "192.0.2.7", 4) == [True] * 3 + [False]
    assert limits.policy == '"client";q=3;w=1'


def test_processes_count_together_and_clients_apart(file):
    one, other = RateLimits(2, 4, file, Clock()), RateLimits(2, 4, os.dup(file), Clock())
    assert admitted(one, "192.0.2.7", 3) == [True] * 3

    assert admitted(other, "192.0.2.7", 2) == [True, False]
    assert admitted(other, "192.0.2.8", 4) == [True] * 4


def test_the_addresses_of_a_network_of_ipv6_are_one_client(file):
    limits = RateLimits(2, 2, file, Clock())
    assert admitted(limits, "2001:db8:0:1::1", 2) == [True] * 2

    assert admitted(limits, "2001:db8:0:1:ffff::2", 1) == [False]
    assert admitted(limits, "2001:db8:0:2::1", 1) == [True]


def test_more_clients_than_there_is_room_for_are_admitted(file):
    limits = RateLimits(2, 4, file, Clock())
    for number in range(100_000):
        assert limits.take(f"10.{number >> 16}.{number >> 8 & 255}.{number & 255}").admitted
