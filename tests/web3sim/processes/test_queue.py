"""The turns of clients: calls of one do not keep all processes from those of another."""

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from mirror.core.rest.limits.clients import Client
from tests.build import Build
from tests.waiting import wait_until
from tests.web3sim.processes.pools import (
    ONE,
    OTHER,
    WORD_42,
    ask,
    ask_without_end,
    is_long,
    ledger,
    much_work_is_long,
    no_call_is_long,
    one_pool,
    pool,
    running,
)
from web3sim.processes.pool import CallRefused, CallUnavailable, Pool

__all__ = ["no_call_is_long", "ledger", "much_work_is_long", "one_pool", "pool"]


@pytest.fixture
def two_processes(ledger: Build) -> Iterator[Pool]:
    """Yield a pool of two processes, which ends their calls."""
    pool = Pool(2, 2)
    wait_until(lambda: len(pool._idle) == 2)
    yield pool
    pool.close()


def test_a_single_client_may_have_all_processes(two_processes):
    with ThreadPoolExecutor(2) as threads:
        calls = [threads.submit(ask_without_end, two_processes) for _ in range(2)]
        wait_until(lambda: len(two_processes._busy) == 2)
        two_processes.close()
        assert all(isinstance(call.exception(), CallUnavailable) for call in calls)


def test_a_long_call_of_a_client_with_all_processes_is_ended_for_another(two_processes, much_work_is_long):
    much_work_is_long()
    with ThreadPoolExecutor(2) as threads:
        first = threads.submit(ask_without_end, two_processes)
        wait_until(lambda: len(two_processes._busy) == 1)
        second = threads.submit(ask_without_end, two_processes)
        wait_until(lambda: len(two_processes._busy) == 2 and is_long(two_processes))
        assert ask(two_processes, client=OTHER).result == WORD_42
        with pytest.raises(CallUnavailable, match="needed for another client"):
            second.result()
        assert not first.done()
        two_processes.close()


@pytest.mark.parametrize("calls", [1, 5])
def test_a_client_leaves_a_process_to_another_that_calls(two_processes, much_work_is_long, calls):
    assert ask(two_processes, client=OTHER).result == WORD_42
    much_work_is_long()
    with ThreadPoolExecutor(calls) as threads:
        long = [threads.submit(ask_without_end, two_processes) for _ in range(calls)]
        wait_until(lambda: is_long(two_processes))
        # Two wait, and the others are refused, while a process is idle.
        wait_until(lambda: sum(call.done() for call in long) == max(calls - 3, 0))
        assert all(isinstance(call.exception(), CallRefused) for call in long if call.done())
        assert ask(two_processes, client=OTHER).result == WORD_42
        assert len(two_processes._busy) == 1
        two_processes.close()


def test_an_exempt_client_may_have_all_processes(two_processes):
    assert ask(two_processes, client=OTHER).result == WORD_42
    with ThreadPoolExecutor(2) as threads:
        for _ in range(2):
            threads.submit(ask_without_end, two_processes, Client(1, is_exempt=True))
        wait_until(lambda: len(two_processes._busy) == 2)
        two_processes.close()


def test_clients_take_turns(pool):
    with ThreadPoolExecutor(4) as threads:
        threads.submit(ask_without_end, pool)
        wait_until(lambda: pool._busy)
        for number, client in enumerate([ONE, ONE, OTHER], 1):
            threads.submit(ask, pool, client=client)
            wait_until(lambda number=number: len(pool._waiting) == number)
        assert [call.client for call in pool._waiting._ordered()] == [OTHER, ONE, ONE]
        for pid in running(pool):
            os.kill(pid, signal.SIGKILL)


def test_a_call_of_another_client_waits_where_one_client_has_too_many(pool, much_work_is_long):
    much_work_is_long()
    with ThreadPoolExecutor(6) as threads:
        threads.submit(ask_without_end, pool)
        wait_until(lambda: pool._busy)
        waiting = [threads.submit(ask, pool) for _ in range(4)]
        wait_until(lambda: len(pool._waiting) == 4 and is_long(pool))
        other = threads.submit(ask, pool, client=OTHER)
        # As many wait as may: the last of the client with the most calls is refused.
        wait_until(lambda: any(call.done() for call in waiting))
        assert sum(isinstance(call.exception(), CallRefused) for call in waiting if call.done()) == 1
        for pid in running(pool):
            os.kill(pid, signal.SIGKILL)
        assert other.result().result == WORD_42
