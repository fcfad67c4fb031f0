"""Leases: each process works on `web.threads` quick requests, all together on `web.slowThreads` slow ones.

Each lease has a database connection. A thread with a lease does one request after the other: handing a lease
from thread to thread takes longer than a short request.

A request that is expected to be slow waits for the lease of a slow one, for which the process needs one of
the slots that it shares with the others (`mirror.core.db.scheduling.slow_slot`).

Any other is slow as well once it has had its lease for `web.slowAfter`, or has taken a part of that as
processor time. It goes on as one of the few slow ones, and another quick lease takes the place of its own. If
there are as many slow ones already, and quick ones wait, its statement is cancelled; it leaves its lease, and
runs the statement again once it has that of a slow one.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from queue import SimpleQueue
from typing import TYPE_CHECKING, cast

from django.db import DEFAULT_DB_ALIAS, connections

from mirror.core import config, logs
from mirror.core.db.reading import budget
from mirror.core.db.scheduling.connection_lease import ConnectionLease, QueuedWork, Work
from mirror.core.db.scheduling.slow_slot import SlowRequestSlot

if TYPE_CHECKING:
    from mirror.core.db.backend.base import DatabaseWrapper

log = logs.logger("mirror.db")

# A request whose processor time exceeds this part of the time after which it is slow is so, too. Where others
# keep the processors busy, a quick one may take much longer than that.
CPU_SHARE = 0.1
# The interval between two checks for slow requests: while idle and at most; and checks per slow limit.
_CHECK_SECONDS, _CHECKS = 0.025, 2
# Slow requests that wait for others, and the setting for how long; idle threads that are reused.
_MAX_SLOW_WAITING, _SLOW_WAIT, _MAX_IDLE = 64, "rest.db.statementTimeout", 8


class TooManySlowRequests(Exception):
    """Other requests take too long for this one, which is slow as well, to go on."""


class ClientDisconnected(Exception):
    """The client has disconnected."""


class _Local(threading.local):
    scheduler: "RequestScheduler"
    lease: ConnectionLease | None = None
    is_without_lease = False


_local = _Local()


class RequestScheduler:
    """The leases of a process, and its threads that work.

    `ended` is called with work that has ended and the processor time of its lease.
    """

    def __init__(
        self,
        quick: int,
        slots: Sequence[SlowRequestSlot] = (),
        slow_after: float = 0.0,
        ended: Callable[[Work, float], None] | None = None,
    ) -> None:
        self._slow_after, self._ended = slow_after, ended
        self._lock = threading.Lock()
        self._free = [ConnectionLease() for _ in range(quick)]
        #: Those that no thread of this process has or waits for.
        self._slots = list(slots)
        self._slot_wanted = threading.Condition(self._lock)
        # Connections of slow leases that have ended.
        self._spare_connections: list[DatabaseWrapper] = []
        # First come, first served.
        self._waiting: deque[QueuedWork] = deque()
        self._slow_waiting: deque[QueuedWork] = deque()
        self._idle: list[SimpleQueue[ConnectionLease]] = []
        self._used: set[ConnectionLease] = set()

    def submit(self, work: Work, *, slow: bool = False) -> None:
        """Have a thread do the work once it has a lease: that of a slow request if the work is slow."""
        self._grant_or_queue(QueuedWork(work), slow=slow)

    def work_here(self, work: Work) -> bool:
        """Do quick work in this thread, and then what waits; False if no lease is free."""
        with self._lock:
            if not self._free:
                return False
            lease = self._free.pop()
        lease.use_for(QueuedWork(work))
        self._attach(lease)
        self._work()
        return True

    @property
    def waiting(self) -> int:
        """The number of those that wait for a lease, without slow ones."""
        return len(self._waiting)

    @property
    def slow_waiting(self) -> int:
        return len(self._slow_waiting)

    def in_use(self, *, slow: bool) -> int:
        """Return how many leases are in use."""
        return sum((lease.slot is not None) is slow for lease in list(self._used))

    def leases_in_use_for(self, seconds: float) -> list[tuple[ConnectionLease, Work]]:
        """Return the leases that have been used for so long, with what they are used for."""
        latest = time.monotonic() - seconds
        return [(lease, work) for lease in list(self._used) if lease.began < latest and (work := lease.work)]

    def abandon(self, lease: ConnectionLease, work: Work) -> None:
        """End work whose client has disconnected, if it still runs."""
        with lease.lock:
            if lease.work is work:
                lease.abandoned = True
                lease.interrupt()

    def terminate(self, work: Work) -> None:
        """End work without a client whose server may not even accept a cancellation."""
        for lease, lease_work in self.leases_in_use_for(0.0):
            with lease.lock:
                if lease_work is work and lease.work is work:
                    lease.terminate()

    # SLOW WORK

    def check(self) -> float:
        """Make requests that take long slow ones, so that they hold up no quick ones; a repeated check."""
        cpu_limit = self._slow_after * CPU_SHARE
        for lease, work in self.leases_in_use_for(cpu_limit):
            if lease.slot is None and not lease.interrupted and self._is_slow(lease):
                self._make_slow(lease, work)
        if self._slow_waiting:
            self._reject_late()
        return min(cpu_limit / _CHECKS, _CHECK_SECONDS) if self._used else _CHECK_SECONDS

    def _is_slow(self, lease: ConnectionLease) -> bool:
        if time.monotonic() - lease.began > self._slow_after:
            return True
        return (lease.meter.elapsed() or 0.0) > self._slow_after * CPU_SHARE

    def _make_slow(self, lease: ConnectionLease, work: Work) -> None:
        with lease.lock:
            if lease.work is not work:
                return
            with self._lock:
                replacement = self._slow_lease()
                if replacement is not None:
                    lease.slot, replacement.slot = replacement.slot, None
                elif not self._waiting:
                    return
            if replacement is None:
                lease.interrupt()
                return
        self._hand_over(replacement)

    def _slow_lease(self) -> ConnectionLease | None:
        """Return the lease of a slow request if there is one at once. The caller holds the lock."""
        if not self._slow_waiting:
            for slot in self._slots:
                if slot.try_acquire():
                    self._slots.remove(slot)
                    return self._slot_lease(slot)
        return None

    def _slot_lease(self, slot: SlowRequestSlot) -> ConnectionLease:
        return ConnectionLease(self._spare_connections.pop() if self._spare_connections else None, slot)

    def serve_slot(self, slot: SlowRequestSlot) -> float:
        """Wait until slow work waits, and then for a slot for it; a repeated check."""
        with self._lock:
            self._slot_wanted.wait_for(lambda: self._slow_waiting and slot in self._slots)
            self._slots.remove(slot)
        try:
            slot.acquire()
        except BaseException:
            with self._lock:
                self._slots.append(slot)
            raise
        with self._lock:
            lease = self._slot_lease(slot)
        self._hand_over(lease)
        return 0.0

    def _reject_late(self) -> None:
        """Reject slow work that has waited for too long: it ends at its first statement."""
        now = time.monotonic()
        while True:
            # One by one: an error leaves the others for the next look.
            with self._lock:
                late = next((queued for queued in self._slow_waiting if queued.deadline < now), None)
                if late is None:
                    return
                self._slow_waiting.remove(late)
                late.is_rejected = True
            self._grant_or_queue(late, slow=False)

    # LEASES

    def _grant_or_queue(self, queued: QueuedWork, *, slow: bool) -> None:
        """Grant a free lease, or one later. Slow work is refused if too much of it waits."""
        with self._lock:
            lease = self._slow_lease() if slow else None
            if slow and lease is None:
                if len(self._slow_waiting) < _MAX_SLOW_WAITING:
                    queued.deadline = time.monotonic() + config.value(_SLOW_WAIT)
                    self._slow_waiting.append(queued)
                    self._slot_wanted.notify_all()
                    return
                queued.is_rejected = True
            if lease is None and not self._free:
                self._waiting.append(queued)
                return
            lease = lease or self._free.pop()
        self._grant(lease, queued)

    def _hand_over(self, lease: ConnectionLease) -> None:
        """Grant a lease to the next in its queue."""
        with self._lock:
            queue = self._waiting if lease.slot is None else self._slow_waiting
            if not queue:
                self._return(lease)
                return
            queued = queue.popleft()
        self._grant(lease, queued)

    def _grant(self, lease: ConnectionLease, queued: QueuedWork) -> None:
        """Let a thread work with a lease."""
        lease.use_for(queued)
        with self._lock:
            handoff = queued.handoff or (self._idle.pop() if self._idle else None)
        if handoff is not None:
            handoff.put(lease)
            return
        try:
            threading.Thread(target=self._thread, args=(lease,), daemon=True).start()
        except BaseException:
            # There may be too many threads for one more. The lease is for whoever comes next.
            with self._lock:
                lease.work = None
                self._return(lease)
            raise

    def _return(self, lease: ConnectionLease) -> None:
        """Let a free lease rest; a slow one gives its slot back. The caller holds the lock."""
        if lease.slot is None:
            self._free.append(lease)
            return
        lease.slot.release()
        if lease.connection is not None:
            self._spare_connections.append(lease.connection)
        self._slots.append(lease.slot)
        if self._slow_waiting:
            self._slot_wanted.notify_all()

    # THREADS

    def _thread(self, lease: ConnectionLease) -> None:
        granted: SimpleQueue[ConnectionLease] = SimpleQueue()
        while True:
            self._attach(lease)
            self._work()
            with self._lock:
                if len(self._idle) >= _MAX_IDLE:
                    return
                self._idle.append(granted)
            lease = granted.get()

    def _work(self) -> None:
        """Do queued work, as long as there is any and this thread has a lease."""
        while (lease := _local.lease) is not None and lease.work is not None:
            try:
                lease.work()
                self._report_ended()
            except BaseException:
                # Whatever it was, the lease is for others, too. There may be no memory to log it.
                with suppress(BaseException):
                    log.error("unexpected_error", exc_info=True)
            # Work may have left its lease and got another one.
            if (lease := _local.lease) is None:
                return
            lease.finish()
            with self._lock:
                if lease.slot is None and self._waiting and self._waiting[0].handoff is None:
                    lease.use_for(self._waiting.popleft())
        if lease is not None:
            self._give_up(lease)

    def _report_ended(self) -> None:
        """Report this thread's work, if it was not interrupted and still has its lease."""
        lease = _local.lease
        if lease is None:
            return
        seconds = lease.meter.lap(lease.session)
        if self._ended and lease.work and seconds is not None and not (lease.rejected or lease.abandoned):
            self._ended(lease.work, seconds)

    def _attach(self, lease: ConnectionLease) -> None:
        """Make a lease this thread's."""
        if lease.connection is None:
            lease.connection = cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS])
            lease.connection.inc_thread_sharing()
        else:
            connections[DEFAULT_DB_ALIAS] = lease.connection
        lease.connection.lease = _local.lease = lease
        _local.scheduler = self
        lease.meter.begin(lease.session)
        self._used.add(lease)

    def _give_up(self, lease: ConnectionLease) -> None:
        """Let others have this thread's lease."""
        lease.finish()
        self._used.discard(lease)
        del connections[DEFAULT_DB_ALIAS]
        _local.lease = None
        if lease.connection is not None:
            lease.connection.lease = None
        if lease.slot is not None and not lease.slot.offer():
            with self._lock:
                self._return(lease)
            return
        self._hand_over(lease)

    # WORK THAT LEAVES ITS LEASE

    @contextmanager
    def leased(self) -> Iterator[None]:
        """Work in this thread, with a lease that is waited for."""
        self.take(None)
        try:
            yield
        finally:
            release()

    def leave(self, lease: ConnectionLease) -> Work | None:
        """Give up this thread's lease; return what it was used for."""
        work = lease.work
        self._give_up(lease)
        return work

    def take(self, work: Work | None, *, slow: bool = False) -> None:
        """Wait for a lease. Errors: TooManySlowRequests, with a quick lease."""
        handoff: SimpleQueue[ConnectionLease] = SimpleQueue()
        self._grant_or_queue(QueuedWork(work, handoff), slow=slow)
        lease = handoff.get()
        self._attach(lease)
        if lease.rejected:
            raise TooManySlowRequests


def own_connection() -> "DatabaseWrapper":
    """Return this thread's connection: that of its lease, as Django takes longer to find it, or Django's."""
    lease = _local.lease
    if lease is not None and lease.connection is not None:
        return lease.connection
    return cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS])


def work_without_lease() -> None:
    """Have this thread work without a lease: it needs no database."""
    _local.is_without_lease = True


def is_without_lease() -> bool:
    return _local.is_without_lease


@contextmanager
def released() -> Iterator[None]:
    """Give up this thread's lease during the block, and wait for one after it; do nothing without a lease."""
    lease = _local.lease
    if lease is None or (lease.connection is not None and lease.connection.in_atomic_block):
        # A transaction stays with its connection.
        yield
        return
    scheduler = _local.scheduler
    work = scheduler.leave(lease)
    try:
        yield
    finally:
        scheduler.take(work)


def release() -> None:
    """Give up this thread's lease for good: what follows takes long and needs no database."""
    if _local.lease is not None:
        _local.scheduler.leave(_local.lease)


def resume(lease: ConnectionLease) -> None:
    """Go on after an interruption: as a slow request. Errors: ClientDisconnected, TooManySlowRequests."""
    with lease.lock:
        # Whoever interrupts has done so.
        pass
    if lease.abandoned:
        raise ClientDisconnected
    if lease.rejected:
        raise TooManySlowRequests
    if lease.slot is not None or (lease.connection is not None and lease.connection.in_atomic_block):
        lease.interrupted = False
        return
    began = time.monotonic()
    scheduler = _local.scheduler
    scheduler.take(scheduler.leave(lease), slow=True)
    budget.extend(time.monotonic() - began)
