"""Pools of processes for tests, and calls that they run."""

import os
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from mirror.core.rest.limits.clients import Client
from tests.build import Build
from tests.waiting import PATIENCE_SECONDS, wait_until
from tests.web3sim.engine.world import RETURN_TOP, code
from tests.web3sim.rows import ANSWERS, ENDLESS, asked, contract, long_zero, network
from web3sim.processes import starter
from web3sim.processes.pool import Pool

ONE, OTHER = Client(1), Client(2)
WORD_42 = (42).to_bytes(32, "big")
FEW, LOOPS, DEEP = 5001, 5002, 5003


@pytest.fixture
def ledger(ledger_tables: None) -> Build:
    build = Build()
    network(build)
    contract(build, FEW, ANSWERS)
    contract(build, LOOPS, ENDLESS)
    # Calls itself with all gas that it may hand on.
    contract(build, DEEP, code(0, 0, 0, 0, 0, "ADDRESS", "GAS", "CALL", *RETURN_TOP))
    return build


@pytest.fixture(autouse=True)
def no_call_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a slow machine any call takes as long as only long ones should."""
    for name in ("_LONG_CPU_SECONDS", "_LONG_SECONDS"):
        monkeypatch.setattr(starter, name, float("inf"))


@pytest.fixture
def much_work_is_long(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on calls are long that take much of a processor's time."""
    return lambda: monkeypatch.setattr(starter, "_LONG_CPU_SECONDS", 0.25)


@pytest.fixture(scope="module")
def one_pool() -> Iterator[Pool]:
    made = Pool(1, 4)
    yield made
    made.close()


@pytest.fixture
def pool(ledger: Build, one_pool: Pool) -> Pool:
    """With a fresh process for calls; the first one takes seconds to start."""
    before = running(one_pool)
    for pid in before:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: [each for each in one_pool._idle if each.pid not in before])
    return one_pool


def stop(pid: int) -> None:
    """Stop the process, and wait until none of its threads runs any more: the signal alone does not wait."""
    os.kill(pid, signal.SIGSTOP)
    if not Path(f"/proc/{pid}/task").exists():
        wait_until(lambda: psutil.Process(pid).status() == psutil.STATUS_STOPPED)
        return
    threads = [each / "stat" for each in Path(f"/proc/{pid}/task").iterdir()]
    wait_until(lambda: all(each.read_text().rpartition(")")[2].split()[0] == "T" for each in threads))


def soon(seconds: float = PATIENCE_SECONDS) -> float:
    return time.monotonic() + seconds


def ask(pool: Pool, to: int = FEW, seconds: float = PATIENCE_SECONDS, client: Client = ONE, **given):
    deadline = soon(seconds)
    return pool.run(asked(to=long_zero(to), **{"deadline": deadline} | given), deadline, client)


def ask_without_end(pool: Pool, client: Client = ONE):
    """A call that ends only with its process."""
    return ask(pool, LOOPS, gas=10**13, client=client)


def running(pool: Pool) -> list[int]:
    """The processes of a pool that are alive, but for the first."""
    first = pool._starter._process
    return [] if first is None else children(first.pid)


def children(pid: int) -> list[int]:
    # One that dies counts until the last of its threads, which has its socket, is gone.
    return [each.pid for each in psutil.process_iter(["ppid"]) if each.info["ppid"] == pid]


def is_long(pool: Pool) -> bool:
    """Whether all processes that answer calls have worked on theirs for a while."""
    busy = list(pool._busy)
    return bool(busy) and all(worker.is_long for worker in busy)
