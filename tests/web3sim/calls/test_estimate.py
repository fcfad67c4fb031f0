"""The search for a gas limit, by how it answers for calls that need a known amount."""

import pytest

from web3sim.calls.estimate import Search, minimum_gas

SEARCH = Search(0.10, 20)


def searched(need: int, used: int, limit: int, search: Search = SEARCH) -> tuple[int, list[int]]:
    attempts: list[int] = []

    def suffices(gas: int) -> bool:
        attempts.append(gas)
        return gas >= need

    return minimum_gas(used, limit, search, suffices), attempts


def test_a_call_that_uses_its_whole_limit_needs_it():
    assert searched(50_000, 50_000, 50_000) == (50_000, [])
    assert searched(60_000, 60_000, 50_000) == (60_000, [])


@pytest.mark.parametrize("used", [21_000, 24_000, 100_000, 7_000_000])
def test_the_answer_suffices_and_is_not_far_above_what_is_needed(used):
    for need in (used, used + used // 63, used + 2300):
        found, attempts = searched(need, used, 15_000_000)
        assert need <= found <= need + used * 0.2 + 1
        assert len(attempts) <= 20


def test_halving_stops_when_two_attempts_are_close():
    found, attempts = searched(30_000, 30_000, 130_000)
    # Attempts: 80,000, 55,000, 42,500, 36,250, 33,125, 31,562; the last two are closer than 3,000.
    assert (found, attempts) == (31_562, [80_000, 55_000, 42_500, 36_250, 33_125, 31_562])


def test_close_attempts_that_fail_do_not_stop_it():
    found, _ = searched(40_000, 39_990, 40_020)
    assert found == 40_005


def test_attempts_are_bounded():
    found, attempts = searched(21_001, 21_000, 15_000_000, Search(0.0, 3))
    assert len(attempts) == 3
    assert found == attempts[-1]


def test_without_attempts_the_limit_is_the_answer():
    assert searched(21_001, 21_000, 15_000_000, Search(0.1, 0)) == (15_000_000, [])


def test_what_never_suffices_below_the_limit_needs_the_limit():
    found, _ = searched(1_000_000, 21_000, 1_000_000, Search(0.0, 100))
    assert found == 1_000_000
