"""Turns of slow work: few, shared by the processes of a server, and out of the way of quick work."""

import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import partial

import pytest
from django.db import connection

from mirror.core.db.reading.sql import fetch_one
from mirror.core.db.scheduling import repeated, slow_slot
from mirror.core.db.scheduling import request_scheduler as turns
from mirror.core.db.scheduling.cpu_time import CpuMeter
from mirror.core.db.scheduling.request_scheduler import RequestScheduler, TooManySlowRequests
from mirror.core.db.scheduling.slow_slot import Files, SlowRequestSlot
from tests.linux import linux_only
from tests.waiting import PATIENCE_SECONDS, wait_until

pytestmark = pytest.mark.usefixtures("ledger_tables")

_COUNT = "select count(*) from generate_series(1, %s)"


@pytest.fixture
def files() -> Files:
    return slow_slot.create_files()


@dataclass
class _Held:
    """Work that goes on until it is told to end."""

    began: threading.Event = field(default_factory=threading.Event)
    may_end: threading.Event = field(default_factory=threading.Event)
    ended: threading.Event = field(default_factory=threading.Event)

    def __call__(self) -> None:
        self.began.set()
        self.may_end.wait(PATIENCE_SECONDS)
        self.ended.set()


def _process(quick: int, *files: Files, slow_after: float = 3600.0) -> RequestScheduler:
    """Turns as a process has them that shares slots with others."""
    shared = [SlowRequestSlot(each) for each in files]
    made = RequestScheduler(quick, shared, slow_after)
    for slot in shared:
        repeated.start(partial(made.serve_slot, slot))
    return made


def _done(turns: RequestScheduler, *, slow: bool = False) -> bool:
    done = threading.Event()
    turns.submit(done.set, slow=slow)
    return done.wait(PATIENCE_SECONDS)


def _is_idle(turns: RequestScheduler, quick: int, slow: int) -> bool:
    return len(turns._free) == quick and len(turns._slots) == slow and not turns._used


def test_slow_work_waits_for_other_slow_work_while_quick_work_is_done(files):
    turns = _process(1, files)
    works = [_Held() for _ in range(3)]
    for work in works:
        turns.submit(work, slow=True)

    for number, work in enumerate(works):
        assert work.began.wait(PATIENCE_SECONDS)
        assert not any(later.began.is_set() for later in works[number + 1 :])
        assert _done(turns)
        work.may_end.set()
    wait_until(lambda: _is_idle(turns, 1, 1))


def test_slow_work_waits_for_that_of_another_process_and_all_processes_have_their_turn(files):
    one, other = _process(1, files), _process(1, files)
    order: list[_Held] = []
    works = {process: [_Held() for _ in range(3)] for process in (one, other)}
    for process in (one, other):
        for work in works[process]:
            process.submit(work, slow=True)
    everything = [*works[one], *works[other]]

    for _ in everything:
        wait_until(lambda: any(work.began.is_set() and work not in order for work in everything))
        (work,) = (work for work in everything if work.began.is_set() and work not in order)
        order.append(work)
        assert _done(one)
        assert _done(other)
        # The other process is next as soon as it waits.
        wait_until(
            lambda: len(order) > len(everything) - 2 or not all(process._slots for process in (one, other))
        )
        work.may_end.set()
    for process in (one, other):
        wait_until(lambda process=process: _is_idle(process, 1, 1))
        assert [work for work in order if work in works[process]] == works[process]


def test_more_slow_work_than_may_wait_is_done_at_once_and_ends_at_its_first_statement(files):
    turns = _process(1, files)
    held = _Held()
    turns.submit(held, slow=True)
    waiting = [_Held() for _ in range(64)]
    for each in waiting:
        each.may_end.set()
        turns.submit(each, slow=True)
    found: list[str] = []
    ended = threading.Event()

    def ask() -> None:
        try:
            fetch_one("select 1")
        except TooManySlowRequests:
            found.append("refused")
        ended.set()

    turns.submit(ask, slow=True)

    assert ended.wait(PATIENCE_SECONDS)
    assert found == ["refused"]
    assert not any(each.began.is_set() for each in waiting)
    held.may_end.set()
    for each in waiting:
        assert each.ended.wait(PATIENCE_SECONDS)
    wait_until(lambda: _is_idle(turns, 1, 1))


def test_slow_work_that_has_waited_for_too_long_ends_at_its_first_statement(files, settings_of):
    settings_of({"rest.db.statementTimeout": 0.05})
    turns = _process(1, files, slow_after=0.01)
    repeated.start(turns.check)
    # Work without statements can't be interrupted.
    held = _Held()
    turns.submit(held, slow=True)
    refused = threading.Event()

    def ask() -> None:
        try:
            fetch_one("select 1")
        except TooManySlowRequests:
            refused.set()

    turns.submit(ask, slow=True)

    assert refused.wait(PATIENCE_SECONDS)
    assert not held.ended.is_set()
    held.may_end.set()
    wait_until(lambda: _is_idle(turns, 1, 1))
    assert _done(turns, slow=True)


@linux_only
def test_work_that_computes_is_slow_long_before_work_that_waits(files, monkeypatch, settings_of):
    # Its statement would end by itself before it had its turn for so long. On a busy machine it takes a while
    # until it has had a part of that as processor time.
    settings_of({"rest.db.statementTimeout": 5.7})
    monkeypatch.setattr("mirror.core.db.scheduling.request_scheduler.CPU_SHARE", 0.03)
    turns = _process(1, files, slow_after=6.0)
    repeated.start(turns.check)
    held = _Held()
    turns.submit(held, slow=True)
    ended: list[type[Exception]] = []

    def compute() -> None:
        fetch_one("select 1")
        try:
            fetch_one("select count(*) from generate_series(1, 20000) a, generate_series(1, 20000) b")
        except Exception as error:
            ended.append(type(error))

    turns.submit(lambda: connection.ensure_connection())
    turns.submit(compute)

    assert _done(turns)
    assert not ended
    wait_until(lambda: ended)
    assert ended == [TooManySlowRequests]
    held.may_end.set()
    wait_until(lambda: _is_idle(turns, 1, 1))
    _close(turns)


def test_a_slow_turn_is_not_lost_when_there_can_be_no_more_threads(files, monkeypatch):
    turns = _process(1, files)

    def no_more(thread: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    with monkeypatch.context() as context:
        context.setattr(threading.Thread, "start", no_more)
        with pytest.raises(RuntimeError):
            turns.submit(lambda: None, slow=True)

    assert _done(turns, slow=True)


def _in_a_thread(work: Callable[[], None]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


@pytest.fixture
def measured() -> Iterator[Callable[[str, int], float]]:
    """The processor time of a statement, whose connection is closed in the end."""

    def measure(statement: str, value: int) -> float:
        found: list[float | None] = []

        def ask() -> None:
            fetch_one("select 1")
            meter = CpuMeter()
            meter.begin(connection.connection)
            fetch_one(statement, (value,))
            found.append(meter.lap(connection.connection))
            connection.close()

        _in_a_thread(ask)
        (seconds,) = found
        assert seconds is not None
        return seconds

    yield measure


@linux_only
def test_the_processor_time_of_postgresql_counts_and_waiting_does_not(measured):
    assert measured(_COUNT, 1_000_000) > 10 * measured("select pg_sleep(0.0001 * %s)", 1000)


def test_the_processor_time_with_another_connection_than_at_the_beginning_is_unknown(ledger_tables):
    found: list[float | None] = []

    def ask() -> None:
        fetch_one("select 1")
        meter = CpuMeter()
        meter.begin(connection.connection)
        connection.close()
        fetch_one("select 1")
        found.append(meter.lap(connection.connection))
        connection.close()

    _in_a_thread(ask)

    assert found == [None]


@dataclass
class _Tally:
    """What has been done, and how much at a time."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    answers: Counter[int] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    slow: int = 0
    most_slow: int = 0

    def answered(self, number: int) -> None:
        with self.lock:
            self.answers[number] += 1

    def slow_by(self, change: int) -> None:
        with self.lock:
            self.slow += change
            self.most_slow = max(self.most_slow, self.slow)


def _random_work(number: int, dice: random.Random, tally: _Tally) -> Callable[[], None]:
    """Return work of some statements, each with its own answer; it may leave its turn, take long, or fail."""
    steps = [dice.choice(["ask", "ask", "sleep", "leave", "compute"]) for _ in range(dice.randint(1, 4))]
    fails = dice.random() < 0.1

    def work() -> None:
        is_slow = turns._local.lease is not None and turns._local.lease.slot is not None
        if is_slow:
            tally.slow_by(1)
        try:
            for step in steps:
                if step == "leave":
                    if is_slow:
                        continue
                    with turns.released():
                        time.sleep(0.001)
                elif step == "compute":
                    time.sleep(0.002)
                row = fetch_one(
                    "select %s, pg_sleep(0.0001 * %s)", (number, 300 if step == "sleep" and number % 3 else 1)
                )
                if row is None or row[0] != number:
                    tally.wrong.append(f"{number}: {row}")
        except Exception as error:
            tally.wrong.append(f"{number}: {error!r}")
        finally:
            if is_slow:
                tally.slow_by(-1)
            tally.answered(number)
        if fails:
            raise SystemExit

    return work


@pytest.mark.parametrize("seed", range(3))
def test_random_work_of_two_processes_is_all_done_once_and_with_its_own_answers(seed):
    dice, tally = random.Random(seed), _Tally()
    shared = [slow_slot.create_files() for _ in range(2)]
    processes = [_process(2, *shared, slow_after=0.01) for _ in range(2)]
    for process in processes:
        repeated.start(process.check)

    numbers = range(1, 301)
    for number in numbers:
        dice.choice(processes).submit(_random_work(number, dice, tally), slow=dice.random() < 0.2)
        if dice.random() < 0.2:
            time.sleep(dice.random() * 0.01)

    wait_until(lambda: len(tally.answers) == len(numbers))
    assert tally.answers == Counter(numbers)
    assert not tally.wrong
    assert tally.most_slow <= len(shared)
    for process in processes:
        wait_until(lambda process=process: _is_idle(process, 2, 2))
        _close(process)


def _close(turns: RequestScheduler) -> None:
    """Close the connections of idle turns."""
    for spare in [*turns._spare_connections, *(lease.connection for lease in turns._free)]:
        if spare is not None:
            spare.close()
