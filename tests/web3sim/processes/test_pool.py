"""The processes that run calls: what a call may take of them, and that none of it reaches the others."""

import fcntl
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

import psutil
import pytest

from mirror.core.db.availability import outage, unresponsive
from tests.linux import linux_only
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.web3sim.engine.world import RETURN_TOP, calling, code
from tests.web3sim.processes.pools import (
    DEEP,
    FEW,
    LOOPS,
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
    soon,
    stop,
)
from tests.web3sim.rows import contract, long_zero
from web3sim.processes import pool as workers
from web3sim.processes import starter
from web3sim.processes.channel import Channel
from web3sim.processes.pool import CallRefused, CallUnavailable, Pool
from web3sim.processes.starter import Starter, WorkerProcess
from web3sim.processes.worker import ENDED_ON_PURPOSE

__all__ = ["no_call_is_long", "ledger", "much_work_is_long", "one_pool", "pool"]


def test_a_process_answers_one_call_after_the_other(pool):
    assert [ask(pool).result for _ in range(20)] == [WORD_42] * 20
    assert len(running(pool)) == 1


def test_concurrent_calls_use_running_processes(ledger):
    pool = Pool(2, 4)
    try:
        wait_until(lambda: len(pool._idle) == 2)
        before = running(pool)
        with ThreadPoolExecutor(20) as threads:
            found = [each.result() for each in [threads.submit(ask, pool) for _ in range(60)]]
        assert [each.result for each in found] == [WORD_42] * 60
        assert running(pool) == before
    finally:
        pool.close()


def test_start_of_a_process_does_not_count_for_a_call(pool):
    first = pool._starter._process.pid
    stop(first)
    with ThreadPoolExecutor(1) as threads:
        try:
            os.kill(pool._idle[0].pid, signal.SIGKILL)
            wait_until(lambda: not pool._idle)
            call = threads.submit(ask, pool, seconds=3)
            time.sleep(3.5)
        finally:
            os.kill(first, signal.SIGCONT)
        assert call.result().result == WORD_42


def test_start_of_a_process_does_not_count_while_another_is_busy(ledger):
    pool = Pool(2, 4)
    wait_until(lambda: len(pool._idle) == 2)
    assert pool._starter._process is not None
    first = pool._starter._process.pid
    with ThreadPoolExecutor(2) as threads:
        busy = threads.submit(ask_without_end, pool)
        wait_until(lambda: pool._busy and pool._idle)
        stop(first)
        try:
            os.kill(pool._idle[0].pid, signal.SIGKILL)
            wait_until(lambda: not pool._idle)
            call = threads.submit(ask, pool, seconds=3)
            time.sleep(3.5)
        finally:
            os.kill(first, signal.SIGCONT)
        assert call.result().result == WORD_42
        pool.close()
        with pytest.raises(CallUnavailable):
            busy.result()


def test_call_is_refused_while_no_process_can_start(ledger, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(sys, "executable", "/nowhere")
        pool = Pool(1, 1)
        with pytest.raises(CallUnavailable, match="no process could be started"):
            ask(pool)
    try:
        wait_until(lambda: pool._idle)
        assert ask(pool).result == WORD_42
    finally:
        pool.close()


def test_killed_idle_process_is_replaced(pool):
    first = pool._idle[0].pid
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: [each for each in pool._idle if each.pid != first])
    assert ask(pool).result == WORD_42
    assert first not in running(pool)


@pytest.mark.parametrize("engine", ["pyevm", "pyevm-blocks"])
def test_an_endless_loop_ends_at_its_deadline(pool, engine):
    # The pool would wait longer: the process ends the call by itself.
    found = ask(pool, LOOPS, deadline=soon(0.2), gas=10**13, engine=engine)
    assert found.status is HTTPStatus.SERVICE_UNAVAILABLE
    assert ask(pool).result == WORD_42


def test_a_process_that_does_not_notice_its_deadline_is_killed_and_replaced(pool, monkeypatch):
    monkeypatch.setattr(starter, "_GRACE_SECONDS", 0.0)
    ask(pool)
    (first,) = running(pool)
    stop(first)
    with pytest.raises(CallUnavailable, match="took too long"):
        ask(pool, seconds=1)
    wait_until(lambda: first not in running(pool))
    assert ask(pool).result == WORD_42


def test_a_process_that_dies_costs_only_its_call(pool, much_work_is_long):
    ask(pool)
    much_work_is_long()
    (first,) = running(pool)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(ask_without_end, pool)
        wait_until(lambda: is_long(pool))
        os.kill(first, signal.SIGKILL)
        with pytest.raises(CallUnavailable, match="died"):
            call.result()
    assert ask(pool).result == WORD_42


def priority(pid: int) -> int | None:
    """That of the thread that answers calls; None while there is none."""
    found = None
    for thread in Path(f"/proc/{pid}/task").iterdir():
        if thread.name != str(pid):
            with suppress(ProcessLookupError):
                found = os.getpriority(os.PRIO_PROCESS, int(thread.name))
    return found


@linux_only
def test_process_of_a_long_call_runs_at_a_lower_priority_and_ends_after_it(pool, monkeypatch):
    ask(pool)
    (first,) = running(pool)
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    # A stopped process takes as long as the test wants.
    stop(first)
    monkeypatch.setattr(starter, "_LONG_SECONDS", 0.0)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(ask, pool)
        wait_until(lambda: priority(first) == min(usual + 10, 19))
        os.kill(first, signal.SIGCONT)
        assert call.result().result == WORD_42
    monkeypatch.setattr(starter, "_LONG_SECONDS", float("inf"))
    assert ask(pool).result == WORD_42
    wait_until(lambda: first not in running(pool))
    assert [priority(pid) for pid in running(pool)] == [usual]


def test_a_call_is_long_that_took_much_of_a_processors_time(pool, much_work_is_long):
    ask(pool)
    much_work_is_long()
    (first,) = running(pool)
    usual = os.getpriority(os.PRIO_PROCESS, 0)
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(ask_without_end, pool)
        wait_until(lambda: priority(first) == min(usual + 10, 19))
        os.kill(first, signal.SIGKILL)
        with pytest.raises(CallUnavailable):
            call.result()


def test_deep_recursion_is_answered(pool):
    for engine in ("pyevm", "pyevm-blocks"):
        assert ask(pool, DEEP, engine=engine).status is HTTPStatus.OK
    assert len(running(pool)) == 1


def test_a_call_beyond_the_limit_of_memory_is_refused(ledger, settings_of):
    settings_of({"web3.workerMemory": 64})
    pool = Pool(1, 1)
    try:
        ask(pool)
        # 200 MB of memory cost more gas than any call has.
        contract(ledger, 5004, code(1, 200 << 20, "MSTORE"))
        assert ask(pool, 5004, gas=10**12).status is HTTPStatus.SERVICE_UNAVAILABLE
        assert ask(pool).result == WORD_42
    finally:
        pool.close()


def test_a_process_makes_room_for_another_after_its_calls(ledger, settings_of):
    settings_of({"web3.workerCalls": 3})
    pool = Pool(1, 1)
    try:
        seen = set()
        for _ in range(7):
            assert ask(pool).result == WORD_42
            seen.update(running(pool))
        assert len(seen) >= 2
    finally:
        pool.close()


def test_calls_beyond_those_that_may_wait_for_long_ones_are_refused_soon(ledger, much_work_is_long):
    pool = Pool(1, 1)
    try:
        ask(pool)
        much_work_is_long()
        (first,) = running(pool)
        with ThreadPoolExecutor(2) as threads:
            long = threads.submit(ask_without_end, pool)
            wait_until(lambda: is_long(pool))
            waiting = threads.submit(ask, pool)
            wait_until(lambda: pool._waiting)
            with pytest.raises(CallRefused, match="busy"):
                ask(pool)
            assert not long.done() and not waiting.done()
            os.kill(first, signal.SIGKILL)
            with pytest.raises(CallUnavailable, match="died"):
                long.result()
            assert waiting.result().result == WORD_42
    finally:
        pool.close()


def test_the_first_process_is_started_again_when_it_was_killed(pool):
    ask(pool)
    before = running(pool)
    pool._starter._process.kill()
    # Those it made end with it.
    wait_until(lambda: not any(psutil.pid_exists(pid) for pid in before))

    def is_answered() -> bool:
        # It is started again after a pause.
        with suppress(CallUnavailable):
            return bool(ask(pool).result == WORD_42)
        return False

    wait_until(is_answered)


def test_of_processes_that_die_at_once_each_death_is_recorded(ledger, settings_of, tmp_path):
    settings_of({"data": str(tmp_path)})
    starter = Starter()
    recorded = tmp_path / "deaths.jsonl"
    expected = 0
    try:
        for _ in range(20):
            dying = [starter.worker(threading.Event()) for _ in range(8)]
            for worker in dying:
                os.kill(worker.pid, signal.SIGKILL)
            expected += len(dying)
            wait_until(lambda expected=expected: _lines(recorded) >= expected, lambda: recorded.read_text())
            for worker in dying:
                worker.close()
        assert _lines(recorded) == expected
    finally:
        starter.close()


def _lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


def test_processes_start_while_the_death_file_is_locked(ledger, settings_of, tmp_path):
    settings_of({"data": str(tmp_path)})
    pool = Pool(1, 1)
    try:
        ask(pool)
        (first,) = running(pool)
        with (tmp_path / "deaths.jsonl").open("a") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            os.kill(first, signal.SIGKILL)
            wait_until(lambda: first not in running(pool))
            assert ask(pool).result == WORD_42
    finally:
        pool.close()


def test_a_stopped_first_process_is_ended_with_its_pool(ledger):
    pool = Pool(1, 1)
    ask(pool)
    assert pool._starter._process
    first = pool._starter._process.pid
    stop(first)
    pool.close()
    wait_until(lambda: not psutil.pid_exists(first))


def test_nothing_is_left_when_a_pool_is_closed(ledger):
    pool = Pool(1, 1)
    ask(pool)
    assert pool._starter._process
    first = pool._starter._process.pid
    others = running(pool)
    pool.close()
    wait_until(lambda: not any(psutil.pid_exists(pid) for pid in [first, *others]))


def test_a_call_ends_with_the_pool_that_runs_it(ledger):
    pool = Pool(1, 1)
    ask(pool)
    descriptors = Path("/dev/fd")
    open_before = len([*descriptors.iterdir()])
    with ThreadPoolExecutor(1) as threads:
        call = threads.submit(ask_without_end, pool)
        wait_until(lambda: pool._busy)
        pool.close()
        with pytest.raises(CallUnavailable):
            call.result()
    assert len([*descriptors.iterdir()]) == open_before - len(["the starter", "the worker"])


def test_late_chunks_end_their_process(pool):
    process = subprocess.Popen(["sleep", "600"])
    ours, theirs = socket.socketpair()
    with theirs:
        Channel(theirs).send(b"first")
        Channel(theirs).send(b"second")
        worker = WorkerProcess(ours, process.pid)
        assert worker.chunk(soon()) == b"first"
        # The second one is there, but its reader comes too late.
        chunks = pool._chunks(worker, soon(-10))
        next(chunks)
        with pytest.raises(CallUnavailable, match="took too long"):
            next(chunks)
    assert process.wait(PATIENCE_SECONDS) == -ENDED_ON_PURPOSE


def test_unresponsive_database_ends_the_process_of_chunks(pool, monkeypatch):
    process = subprocess.Popen(["sleep", "600"])
    ours, theirs = socket.socketpair()
    silent = threading.Event()
    silent.set()
    monkeypatch.setattr(outage, "silent", silent)
    with theirs:
        chunks = pool._chunks(WorkerProcess(ours, process.pid), soon())
        next(chunks)
        with pytest.raises(unresponsive.ServerUnresponsive):
            next(chunks)
    assert process.wait(PATIENCE_SECONDS) == -ENDED_ON_PURPOSE


def test_unread_chunks_end_their_process_when_they_are_closed(pool):
    process = subprocess.Popen(["sleep", "600"])
    ours, theirs = socket.socketpair()
    with theirs:
        chunks = pool._chunks(WorkerProcess(ours, process.pid), soon())
        next(chunks)
        chunks.close()
    assert process.wait(PATIENCE_SECONDS) == -ENDED_ON_PURPOSE


def test_a_call_without_time_is_not_begun(pool):
    with pytest.raises(CallUnavailable):
        ask(pool, seconds=-1)


def test_the_pool_of_this_process_is_made_anew_after_it_was_stopped(ledger):
    try:
        first = workers.pool()
        assert ask(first).result == WORD_42
        workers.stop()
        assert workers.pool() is not first
        assert ask(workers.pool()).result == WORD_42
    finally:
        workers.stop()


def test_calls_of_a_contract_that_calls_others_see_the_stored_state(pool, ledger):
    contract(ledger, 5005, code(*calling(long_zero(FEW)), "POP", "RETURNDATASIZE", *RETURN_TOP))
    assert int.from_bytes(ask(pool, 5005).result, "big") == 32
