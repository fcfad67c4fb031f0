"""The pools of processes that run contract calls, a few for each web server process.

They start before calls need them. A call can only break its own process: one that does not end at its
deadline is killed shortly after, and one that ends is replaced at once. Long calls run at a lower priority,
so that other requests are as fast as without them.
"""

import threading
import time
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any

from mirror.core import config, logs
from mirror.core.db import replicas
from mirror.core.db.availability import unresponsive
from mirror.core.metrics import sample, simulation
from mirror.core.rest.limits.clients import UNKNOWN, Client
from web3sim.calls import messages
from web3sim.processes.queue import Queue, WaitingCall
from web3sim.processes.starter import CHECK_SECONDS, CallRefused, CallUnavailable, Starter, WorkerProcess

__all__ = ["CallRefused", "CallUnavailable", "Pool", "pool", "stop", "trace_pool"]

log = logs.logger("mirror.web3")

# The pause after a process that could not be started.
_RETRY_SECONDS = 1.0


class Pool:
    """`size` processes; `max_queue` calls wait while all are busy with long ones.

    Pools of one `starter` share what the processes have in common.
    """

    def __init__(
        self, size: int, max_queue: int, starter: Starter | None = None, name: str = "calls"
    ) -> None:
        self._size, self._name = size, name
        self._starter = starter or Starter()
        self._lock = threading.Lock()
        self._idle: list[WorkerProcess] = []
        self._busy: dict[WorkerProcess, Client] = {}
        # Why the last one could not be started.
        self._failure = ""
        self._closed, self._lost = threading.Event(), threading.Event()
        self._waiting = Queue(size, max_queue, self._busy)
        # The first process ends with the thread that has started it.
        self._supervisor = threading.Thread(target=self._fill, daemon=True)
        self._supervisor.start()

    def run(self, request: Any, deadline: float, client: Client = UNKNOWN) -> Any:
        """Return the answer of `calls.call.answer` before a time of `time.monotonic`.

        Errors: CallUnavailable.
        """
        return self.stream(request, deadline, 0.0, client)[0]

    def stream(
        self, request: Any, deadline: float, seconds: float, client: Client = UNKNOWN
    ) -> tuple[Any, Generator[bytes] | None]:
        """Return the answer, or if it is long its chunks, which may take `seconds`.

        The chunks must be read to their end, or closed. Errors: CallUnavailable.
        """
        with self._timed():
            worker, answer, is_last = self._send(request, deadline, client)
            # Before this thread waits for its lease, whose holder may wait for a process.
            if answer is not None:
                self.release(worker, usable=not is_last)
        if answer is not None:
            return answer, None
        chunks = self._chunks(worker, time.monotonic() + seconds)
        # From here on its `close` releases the process.
        next(chunks)
        return None, chunks

    def _chunks(self, worker: WorkerProcess, deadline: float) -> Generator[bytes]:
        """Yield nothing, then the chunks of a long answer. Errors: CallUnavailable, ServerUnresponsive."""
        usable = False
        try:
            yield b""
            while chunk := worker.chunk(deadline):
                yield chunk
            is_complete, is_last = worker.end_of_chunks(deadline)
            usable = not is_last
            if not is_complete:
                raise CallUnavailable("took too long")
        except OSError as error:
            raise _worker_lost(worker, error) from error
        finally:
            self.release(worker, usable=usable)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        started_at, outcome = time.perf_counter(), "unanswered"
        try:
            yield
            outcome = "answered"
        except CallUnavailable as error:
            simulation.REFUSED.labels(str(error)).inc()
            raise
        finally:
            simulation.SECONDS.labels(self._name, outcome).observe(time.perf_counter() - started_at)

    def _send(self, request: Any, deadline: float, client: Client) -> tuple[WorkerProcess, Any, bool]:
        """Return a process, which must be released, its answer, and whether that is its last."""
        while time.monotonic() < deadline:
            worker, delay = self._acquire(deadline, client)
            answered = False
            try:
                deadline, request = deadline + delay, request._replace(deadline=request.deadline + delay)
                worker.send(messages.REQUEST.encode((request, logs.REQUEST_ID.get())))
                answer, is_last = worker.answer(deadline)
                answered = True
                return worker, answer, is_last
            except BrokenPipeError:
                # It had died before: another process gets the call.
                continue
            except OSError as error:
                raise _worker_lost(worker, error) from error
            finally:
                if not answered:
                    self.release(worker, usable=False)
        raise CallRefused("no process lived long enough")

    def _fill(self) -> None:
        """Start processes until there are enough, and another for each that ends, until this is closed."""
        while not self._closed.is_set():
            self._lost.clear()
            with self._lock:
                for worker in [worker for worker in self._idle if worker.has_ended()]:
                    self._idle.remove(worker)
                    worker.close()
                missing = self._size - len(self._idle) - len(self._busy)
            if not missing:
                self._lost.wait(CHECK_SECONDS)
                continue
            try:
                worker, self._failure = self._starter.worker(self._closed), ""
            except CallUnavailable as error:
                self._failure = str(error)
                self._closed.wait(_RETRY_SECONDS)
                continue
            with self._lock:
                self._idle.append(worker)
                self._wake_next()

    def close(self) -> None:
        self._closed.set()
        self._lost.set()
        # It ends the others with it; the threads of busy ones release them.
        self._starter.close()
        self._supervisor.join()
        with self._lock:
            while self._idle:
                self._idle.pop().close()

    def register_metrics(self) -> None:
        """Register the metrics of this pool's processes, and of the calls that wait for one."""
        for state, count in (
            ("idle", lambda: len(self._idle)),
            ("busy", lambda: len(self._busy)),
            ("starting", lambda: max(self._size - len(self._idle) - len(self._busy), 0)),
        ):
            sample(simulation.WORKERS.labels(self._name, state), count)
        sample(simulation.WAITING.labels(self._name), lambda: len(self._waiting))

    def _acquire(self, deadline: float, client: Client) -> tuple[WorkerProcess, float]:
        """Return a process, and for how many seconds of the wait one was starting, which do not count.

        Errors: CallRefused, ServerUnresponsive.
        """
        with self._lock:
            call, delay, worker = WaitingCall(client, self._lock), 0.0, None
            self._waiting.add(call)
            try:
                while not self._idle or self._waiting.next() is not call:
                    started_at = time.monotonic()
                    is_starting = len(self._idle) + len(self._busy) < self._size
                    self._check(call, deadline + delay)
                    call.ready.wait(min(deadline + delay - started_at, CHECK_SECONDS))
                    if is_starting:
                        delay += time.monotonic() - started_at
                worker = self._idle.pop()
                worker.begin()
                self._busy[worker] = client
            finally:
                self._waiting.remove(call, is_served=worker is not None)
                self._wake_next()
        return worker, delay

    def _check(self, call: WaitingCall, deadline: float) -> None:
        """End a process for a call that waits, or its wait. Errors: CallRefused, ServerUnresponsive."""
        if not replicas.are_read():
            unresponsive.check()
        if self._closed.is_set():
            raise CallRefused("the node stops")
        if self._failure and not (self._idle or self._busy):
            raise CallRefused(self._failure)
        if time.monotonic() >= deadline:
            raise CallRefused("no process was free in time")
        if surplus := self._waiting.surplus(call):
            surplus.is_surplus = True
            surplus.kill()
        # Most of them would not be served in time.
        elif self._waiting.is_beyond(call):
            raise CallRefused("all processes are busy with long calls")

    def _wake_next(self) -> None:
        if self._idle and (call := self._waiting.next()):
            call.ready.notify()

    def release(self, worker: WorkerProcess, *, usable: bool) -> None:
        """Return a process to the pool, or end it."""
        usable = usable and not worker.is_slowed
        if not usable:
            worker.close()
        with self._lock:
            self._busy.pop(worker, None)
            if usable:
                self._idle.append(worker)
            else:
                self._lost.set()
            self._wake_next()


def _worker_lost(worker: WorkerProcess, error: OSError) -> CallUnavailable:
    if worker.is_surplus:
        reason = "was needed for another client"
    else:
        reason = "took too long" if isinstance(error, TimeoutError) else "died"
    simulation.LOST.labels(reason).inc()
    log.warning("call_lost", process=f"simulation worker (process {worker.pid})", reason=reason)
    return CallUnavailable(f"its process {reason}")


_pools: dict[str, Pool] = {}
_starter = Starter()
_pools_lock = threading.Lock()


def pool() -> Pool:
    """Return the pool for the calls of this web server process."""
    size: int = config.value("web3.workers")
    return _get_pool("calls", size, size)


def trace_pool() -> Pool:
    """Return the pool for opcode traces: one at a time, which leaves the processes for calls alone."""
    return _get_pool("traces", 1, 0)


def _get_pool(name: str, size: int, max_queue: int) -> Pool:
    with _pools_lock:
        if name not in _pools:
            new_pool = _pools[name] = Pool(size, max_queue, _starter, name)
            new_pool.register_metrics()
        return _pools[name]


def stop() -> None:
    """Close all pools; the next call starts others, with the settings at that time."""
    with _pools_lock:
        while _pools:
            _pools.popitem()[1].close()
