"""The pool of processes that run contract calls: a few beside each web server process.

A call can't take more than its process: one that passes its deadline and does not notice is killed a moment
later, and one that dies is replaced. Calls that take long run at a lower priority, so that whatever else the
node answers keeps its speed.
"""

import pickle
import threading
import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any, Self

from mirror import config, logs
from mirror.db import turns
from mirror.db.replicas import moments
from mirror.db.replicas.board import NO_BLOCK
from mirror.metrics import simulation
from web3sim.processes.starter import LOOK_SECONDS, START_SECONDS, Starter, Unanswered, WorkerProcess

__all__ = ["Pieces", "Pool", "Unanswered", "pool", "stop", "trace_pool", "warm_up_soon"]

log = logs.logger("mirror.web3")

_WARM_UP_SECONDS = 3.0
# Threads of each pool that leave their turn to other requests while they wait.
_MOST_LEAVING = 32


class Pool:
    """At most `size` processes, made when needed; `patient` calls wait while all are busy with long ones.

    Pools of one `starter` share what the processes have in common.
    """

    def __init__(self, size: int, patient: int, starter: Starter | None = None, name: str = "calls") -> None:
        self._size, self._patient, self._name = size, patient, name
        self._starter = starter or Starter()
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._busy: set[WorkerProcess] = set()
        self._starting = 0
        self._leaving = threading.BoundedSemaphore(_MOST_LEAVING)
        # Those who wait, each by what wakes it, the first to come first.
        self._turns: deque[threading.Condition] = deque()

    def run(self, request: Any, deadline: float) -> Any:
        """Return what `calls.call.answer` answers by a time of `time.monotonic`. Errors: Unanswered."""
        with self._others_served(), self._timed():
            worker, answer, last = self._ask(request, deadline)
            # Before this thread waits for its turn, whose owner may wait for a process.
            self.release(worker, usable=not last)
        return answer

    def stream(self, request: Any, deadline: float, seconds: float) -> "tuple[Any, Pieces | None]":
        """The same of an answer that may be a long one: then there are pieces, which may come for `seconds`.

        They have to be read to their end, or closed. Errors: Unanswered.
        """
        with self._others_served(), self._timed():
            worker, answer, ends = self._ask(request, deadline)
            if answer is not None:
                self.release(worker, usable=not ends)
        if answer is None:
            return None, Pieces(self, worker, time.monotonic() + seconds)
        return answer, None

    @contextmanager
    def _others_served(self) -> Iterator[None]:
        """Leave this thread's turn to other requests, unless that many have done so."""
        if not self._leaving.acquire(blocking=False):
            yield
            return
        try:
            with turns.left():
                yield
        finally:
            self._leaving.release()

    @contextmanager
    def _timed(self) -> Iterator[None]:
        began, outcome = time.perf_counter(), "unanswered"
        try:
            yield
            outcome = "answered"
        except Unanswered as error:
            simulation.REFUSED.add(str(error))
            raise
        finally:
            simulation.SECONDS.observe(time.perf_counter() - began, self._name, outcome)

    def _ask(self, request: Any, deadline: float) -> tuple[WorkerProcess, Any, bool]:
        """A process, which has to be released, its answer, and whether that is its last."""
        moment = moments.current()
        message = pickle.dumps((request, logs.REQUEST_ID.get(), max(moment.since, moment.newest)))
        while time.monotonic() < deadline:
            worker = self._acquire(deadline)
            answered = False
            try:
                worker.ask(message)
                answer, last, newest = worker.answer(deadline)
                answered = True
                # What the process remembers may be older.
                moment.rest_on(NO_BLOCK)
                moment.rest_on(newest)
                return worker, answer, last
            except BrokenPipeError:
                # It died before: another one gets the call.
                continue
            except OSError as error:
                raise _lost(worker, error) from error
            finally:
                if not answered:
                    self.release(worker, usable=False)
        raise Unanswered("no process lived long enough")

    def warm_up(self) -> None:
        """Start a process, so that the first call need not wait for it."""
        with suppress(Unanswered):
            self.release(self._acquire(time.monotonic() + START_SECONDS), usable=True)

    def close(self) -> None:
        """End all processes."""
        with self._lock:
            while self._idle:
                self._idle.pop().close()
            # Their threads let go of them.
            for worker in self._busy:
                worker.kill()
            self._starter.close()

    def show(self) -> None:
        """Have metrics tell of this pool's processes, and of the calls that wait for one."""
        for state, count in (
            ("idle", lambda: len(self._idle)),
            ("busy", lambda: len(self._busy)),
            ("starting", lambda: self._starting),
        ):
            simulation.WORKERS.read_from(count, self._name, state)
        simulation.WAITING.read_from(lambda: len(self._turns), self._name)

    def _acquire(self, deadline: float) -> WorkerProcess:
        with self._lock:
            # Nobody overtakes, or those who wait could wait for ever.
            if self._turns or not self._is_free():
                self._wait(deadline)
            if self._idle:
                return self._begun(self._idle.pop())
            self._starting += 1
            self._wake_next()
        worker = None
        try:
            worker = self._starter.worker()
        finally:
            with self._lock:
                self._starting -= 1
                if worker:
                    self._begun(worker)
                else:
                    self._wake_next()
        return worker

    def _is_free(self) -> bool:
        return bool(self._idle) or len(self._busy) + self._starting < self._size

    def _begun(self, worker: WorkerProcess) -> WorkerProcess:
        worker.begin()
        self._busy.add(worker)
        self._wake_next()
        return worker

    def _wake_next(self) -> None:
        if self._turns and self._is_free():
            self._turns[0].notify()

    def _wait(self, deadline: float) -> None:
        """Wait for a turn. Errors: Unanswered."""
        turn = threading.Condition(self._lock)
        self._turns.append(turn)
        try:
            while self._turns[0] is not turn or not self._is_free():
                turn.wait(self._patience(turn, deadline))
        except Unanswered:
            self._turns.remove(turn)
            self._wake_next()
            raise
        self._turns.popleft()

    def _patience(self, turn: threading.Condition, deadline: float) -> float:
        """Return how many seconds to wait before looking again. Errors: Unanswered."""
        left = deadline - time.monotonic()
        if left <= 0:
            raise Unanswered("no process was free in time")
        # Most of them would wait in vain.
        if (
            self._turns.index(turn) >= self._patient
            and len(self._busy) >= self._size
            and all(worker.is_long for worker in self._busy)
        ):
            raise Unanswered("all processes are busy with long calls")
        return min(left, LOOK_SECONDS)

    def release(self, worker: WorkerProcess, *, usable: bool) -> None:
        """Let others have a process, or end it."""
        if not usable:
            worker.close()
        with self._lock:
            self._busy.discard(worker)
            if usable:
                self._idle.append(worker)
            self._wake_next()


def _lost(worker: WorkerProcess, error: OSError) -> Unanswered:
    why = "took too long" if isinstance(error, TimeoutError) else "died"
    simulation.LOST.add(why)
    log.warning("call_lost", process=f"simulation worker (process {worker.pid})", reason=why)
    return Unanswered(why)


class Pieces:
    """The pieces of a long answer. Errors while they are read: Unanswered."""

    def __init__(self, pool: Pool, worker: WorkerProcess, last: float) -> None:
        self._pool, self._last = pool, last
        self._worker: WorkerProcess | None = worker

    def __iter__(self) -> Self:
        return self

    def __next__(self) -> bytes:
        if self._worker is None:
            raise StopIteration
        try:
            if piece := self._worker.piece(self._last):
                return piece
            complete, last = pickle.loads(self._worker.piece(self._last))
        except OSError as error:
            lost = _lost(self._worker, error)
            self.close()
            raise lost from error
        self._end(usable=not last)
        if not complete:
            raise Unanswered("took too long")
        raise StopIteration

    def close(self) -> None:
        """End the process: the reader wants no more pieces."""
        self._end(usable=False)

    def _end(self, *, usable: bool) -> None:
        if self._worker is not None:
            worker, self._worker = self._worker, None
            self._pool.release(worker, usable=usable)


_pools: dict[str, Pool] = {}
_starter = Starter()
_making = threading.Lock()


def pool() -> Pool:
    """Return the pool for the calls of this web server process."""
    size: int = config.value("web3.workers")
    return _made("calls", size, size)


def warm_up_soon() -> None:
    """Have a process ready for calls, in a while: a web server that has just started is busy."""
    timer = threading.Timer(_WARM_UP_SECONDS, lambda: pool().warm_up())
    timer.daemon = True
    timer.start()


def trace_pool() -> Pool:
    """Return the pool for opcode traces: one at a time, which leaves the processes for calls alone."""
    return _made("traces", 1, 0)


def _made(name: str, size: int, patient: int) -> Pool:
    with _making:
        if name not in _pools:
            made = _pools[name] = Pool(size, patient, _starter, name)
            made.show()
        return _pools[name]


def stop() -> None:
    """End the processes of this one; the next call starts others, with the settings as they are then."""
    with _making:
        while _pools:
            _pools.popitem()[1].close()
