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
from typing import TYPE_CHECKING, NamedTuple, cast

from django.db import DEFAULT_DB_ALIAS, connections

from mirror.core import config, logs
from mirror.core.db.availability import silence
from mirror.core.db.reading import budget
from mirror.core.db.scheduling.connection_lease import ConnectionLease, Refused, ThreadHandoff, Work
from mirror.core.db.scheduling.slow_slot import SlowRequestSlot

if TYPE_CHECKING:
    from mirror.core.db.backend.base import DatabaseWrapper

log = logs.logger("mirror.db")

# A request whose processor time exceeds this part of the time after which it is slow is so, too. Where others
# keep the processors busy, a quick one may take much longer than that.
PROCESSOR_PART = 0.1
# The interval between two checks for slow requests: while idle and at most; and checks per slow limit.
_LOOK_SECONDS, _LOOKS = 0.025, 2
# Slow requests that wait for others, and the setting for how long; idle threads that are reused.
_MOST_SLOW_WAITING, _SLOW_WAIT, _MOST_RESTING = 64, "rest.db.statementTimeout", 8


class TooManySlowRequests(Exception):
    """Other requests take too long for this one, which is slow as well, to go on."""


class ClientDisconnected(Exception):
    """The client has disconnected."""


class _Slow(NamedTuple):
    """Slow work, or a thread that does some, and when it has waited for too long."""

    waiting: "Work | ThreadHandoff"
    until: float


class _Local(threading.local):
    scheduler: "RequestScheduler"
    lease: ConnectionLease | None = None
    needs_none = False


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
        self._spare: list[DatabaseWrapper] = []
        # Work, and threads that have released their lease and need one again, first come, first served.
        self._waiting: deque[Work | Refused | ThreadHandoff] = deque()
        self._slow_waiting: deque[_Slow] = deque()
        self._resting: list[ThreadHandoff] = []
        self._used: set[ConnectionLease] = set()

    def submit(self, work: Work, *, slow: bool = False) -> None:
        """Have a thread do the work once it has a lease: that of a slow request if the work is slow."""
        if slow:
            with self._lock:
                lease = self._slow_lease()
                is_waiting = lease is None and self._wait_as_slow(work)
            if lease is not None:
                self._begin(lease, work)
            elif not is_waiting:
                self._submit(Refused(work))
        else:
            self._submit(work)

    @property
    def waiting(self) -> int:
        """The number of those that wait for a lease, without slow ones."""
        return len(self._waiting)

    def _submit(self, work: Work | Refused) -> None:
        with self._lock:
            if not self._free:
                self._waiting.append(work)
                return
            lease = self._free.pop()
        self._begin(lease, work)

    @property
    def slow_waiting(self) -> int:
        """Return how many slow requests wait for others."""
        return len(self._slow_waiting)

    def in_use(self, *, slow: bool) -> int:
        """Return how many leases are in use."""
        return sum((lease.slot is not None) is slow for lease in list(self._used))

    def used_for(self, seconds: float) -> list[tuple[ConnectionLease, Work]]:
        """Return the leases that have been used for so long, with what they are used for."""
        latest = time.monotonic() - seconds
        return [(lease, work) for lease in list(self._used) if lease.began < latest and (work := lease.work)]

    def abandon(self, lease: ConnectionLease, work: Work) -> None:
        """End work whose client has disconnected, if it still runs."""
        with lease.lock:
            if lease.work is work:
                lease.abandoned = True
                lease.interrupt()

    def shut(self, work: Work) -> None:
        """End work without a client whose server may not even accept a cancellation."""
        for lease, its in self.used_for(0.0):
            with lease.lock:
                if its is work and lease.work is work:
                    lease.abandoned = lease.interrupted = lease.spoiled = True
                    for wrapper in (lease.connection, lease.reads):
                        if wrapper is not None and wrapper.connection is not None:
                            silence.shut(wrapper.connection)

    def watch(self) -> None:
        """Make requests that take long slow ones, so that they hold up no quick ones; runs for ever."""
        soon = self._slow_after * PROCESSOR_PART
        often = min(soon / _LOOKS, _LOOK_SECONDS)
        while True:
            time.sleep(often if self._used else _LOOK_SECONDS)
            for lease, work in self.used_for(soon):
                if lease.slot is None and not lease.interrupted and self._is_slow(lease):
                    self._make_slow(lease, work)
            if self._slow_waiting:
                self._refuse_late()

    def _is_slow(self, lease: ConnectionLease) -> bool:
        if time.monotonic() - lease.began > self._slow_after:
            return True
        seconds = lease.so_far()
        return seconds is not None and seconds > self._slow_after * PROCESSOR_PART

    def _make_slow(self, lease: ConnectionLease, work: Work) -> None:
        with lease.lock:
            if lease.work is not work:
                return
            with self._lock:
                instead = self._slow_lease()
                if instead is not None:
                    lease.slot, instead.slot = instead.slot, None
                elif not self._waiting:
                    return
            if instead is None:
                lease.interrupt()
                return
        self._hand_on(instead)

    # SLOW WORK

    def _slow_lease(self) -> ConnectionLease | None:
        """Return the lease of a slow request if there is one at once. The caller holds the lock."""
        if not self._slow_waiting:
            for slot in self._slots:
                if slot.take_at_once():
                    self._slots.remove(slot)
                    return self._turn_of(slot)
        return None

    def _turn_of(self, slot: SlowRequestSlot) -> ConnectionLease:
        return ConnectionLease(self._spare.pop() if self._spare else None, slot)

    def _wait_as_slow(self, waiting: "Work | ThreadHandoff") -> bool:
        """Let work or a thread wait for the lease of a slow request, unless too many do."""
        if len(self._slow_waiting) >= _MOST_SLOW_WAITING:
            return False
        self._slow_waiting.append(_Slow(waiting, time.monotonic() + config.value(_SLOW_WAIT)))
        self._slot_wanted.notify_all()
        return True

    def serve_slot(self, slot: SlowRequestSlot) -> None:
        """Wait for a slot whenever slow work waits for it, for ever."""
        while True:
            with self._lock:
                self._slot_wanted.wait_for(lambda: self._slow_waiting and slot in self._slots)
                self._slots.remove(slot)
            try:
                slot.take()
            except BaseException:
                with self._lock:
                    self._slots.append(slot)
                raise
            with self._lock:
                lease = self._turn_of(slot)
            self._hand_on(lease)

    def _put_back(self, lease: ConnectionLease) -> None:
        """End the lease of a slow request, whose slot has been given back. The caller holds the lock."""
        if lease.connection is not None:
            self._spare.append(lease.connection)
        self._slots.append(cast(SlowRequestSlot, lease.slot))
        if self._slow_waiting:
            self._slot_wanted.notify_all()

    def _refuse_late(self) -> None:
        """Have slow work answered that has waited for too long. Threads look after themselves."""
        now = time.monotonic()
        with self._lock:
            late = [
                each
                for each in self._slow_waiting
                if each.until < now and not isinstance(each.waiting, ThreadHandoff)
            ]
            for each in late:
                self._slow_waiting.remove(each)
        for each in late:
            self._submit(Refused(cast(Work, each.waiting)))

    # THREADS

    def _begin(self, lease: ConnectionLease, work: Work | Refused) -> None:
        """Work with a lease, in another thread."""
        lease.use_for(work)
        with self._lock:
            thread = self._resting.pop() if self._resting else None
        if thread is not None:
            thread.give(lease)
            return
        try:
            threading.Thread(target=self._thread, args=(lease,), daemon=True).start()
        except BaseException:
            # There may be too many threads for one more. The lease is for whoever comes next.
            with self._lock:
                lease.work = None
                if lease.slot is None:
                    self._free.append(lease)
                else:
                    lease.slot.give_back()
                    self._put_back(lease)
            raise

    def _thread(self, lease: ConnectionLease | None) -> None:
        handoff = ThreadHandoff()
        while lease is not None:
            self._attach(lease)
            self._work()
            with self._lock:
                if len(self._resting) >= _MOST_RESTING:
                    return
                self._resting.append(handoff)
            lease = handoff.wait()

    def _work(self) -> None:
        """Do one work after the other, as long as some is waiting and this thread has a lease."""
        while (lease := _local.lease) is not None and lease.work is not None:
            try:
                lease.work()
                self._tell_ended()
            except BaseException:
                # Whatever it was, the lease is for others, too. There may be no memory to tell of it.
                with suppress(BaseException):
                    log.error("unexpected_error", exc_info=True)
            # Work may have left its lease and got another one.
            if (lease := _local.lease) is None:
                return
            self._finish(lease)
            with self._lock:
                if lease.slot is None and self._waiting and not isinstance(self._waiting[0], ThreadHandoff):
                    lease.use_for(cast(Work | Refused, self._waiting.popleft()))
        if lease is not None:
            self._give_up(lease)

    def _tell_ended(self) -> None:
        """Tell of this thread's work that has come to its own end, and has not left its lease for good."""
        lease = _local.lease
        if lease is None:
            return
        seconds = lease.lap()
        if self._ended is None or lease.work is None or seconds is None or lease.refused or lease.abandoned:
            return
        self._ended(lease.work, seconds)

    def _finish(self, lease: ConnectionLease) -> None:
        """End the use of a lease, once no thread interrupts it any more."""
        with lease.lock:
            lease.work = None
        for connection in (lease.connection, lease.reads):
            if connection is None:
                continue
            if lease.spoiled:
                connection.close()
            elif connection.errors_occurred:
                connection.close_if_unusable_or_obsolete()
        lease.spoiled = False

    def _attach(self, lease: ConnectionLease) -> None:
        """Make a lease this thread's."""
        if lease.connection is None:
            lease.connection = cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS])
            lease.connection.inc_thread_sharing()
        else:
            connections[DEFAULT_DB_ALIAS] = lease.connection
        lease.connection.lease = _local.lease = lease
        _local.scheduler = self
        lease.begin()
        self._used.add(lease)

    def _give_up(self, lease: ConnectionLease) -> None:
        """Let others have this thread's lease."""
        self._finish(lease)
        self._used.discard(lease)
        del connections[DEFAULT_DB_ALIAS]
        _local.lease = None
        if lease.connection is not None:
            lease.connection.lease = None
        if lease.slot is not None and not lease.slot.offer():
            with self._lock:
                self._put_back(lease)
            return
        self._hand_on(lease)

    def _hand_on(self, lease: ConnectionLease) -> None:
        """Grant a free lease to the next in its queue."""
        following: Work | Refused | ThreadHandoff
        with self._lock:
            if lease.slot is None:
                if not self._waiting:
                    self._free.append(lease)
                    return
                following = self._waiting.popleft()
            else:
                if not self._slow_waiting:
                    lease.slot.give_back()
                    self._put_back(lease)
                    return
                following = self._slow_waiting.popleft().waiting
        if isinstance(following, ThreadHandoff):
            following.give(lease)
        else:
            self._begin(lease, following)

    # WORK THAT LEAVES ITS TURN

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Work in this thread, with a lease that is waited for."""
        self.take(None)
        try:
            yield
        finally:
            end()

    def leave(self, lease: ConnectionLease) -> Work | None:
        """Give up this thread's lease; return what it was used for."""
        work = lease.work
        self._give_up(lease)
        return work

    def take(self, work: Work | None) -> None:
        """Wait for a lease."""
        handoff = None
        with self._lock:
            if self._free:
                lease: ConnectionLease | None = self._free.pop()
            else:
                handoff = ThreadHandoff()
                self._waiting.append(handoff)
        if handoff is not None:
            lease = handoff.wait()
        assert lease is not None
        lease.use_for(work)
        self._attach(lease)

    def take_slow(self, work: Work | None) -> None:
        """Wait for the lease of a slow request. Errors: TooManySlowRequests, with a quick lease."""
        handoff = None
        with self._lock:
            lease = self._slow_lease()
            if lease is None and self._wait_as_slow(waiting := ThreadHandoff()):
                handoff = waiting
        if handoff is not None:
            lease = handoff.wait(config.value(_SLOW_WAIT)) or self._given_at_last(handoff)
        if lease is None:
            self.take(work)
            cast(ConnectionLease, _local.lease).refused = True
            raise TooManySlowRequests
        lease.use_for(work)
        self._attach(lease)

    def _given_at_last(self, handoff: ThreadHandoff) -> ConnectionLease | None:
        """Stop waiting; return the lease that was given meanwhile, if any."""
        with self._lock:
            for each in self._slow_waiting:
                if each.waiting is handoff:
                    self._slow_waiting.remove(each)
                    return None
        return handoff.wait()


def own_connection() -> "DatabaseWrapper":
    """Return this thread's connection: that of its lease, as Django takes longer to find it, or Django's."""
    lease = _local.lease
    if lease is not None and lease.connection is not None:
        return lease.connection
    return cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS])


def need_none() -> None:
    """Have this thread work without a lease, on what needs no database."""
    _local.needs_none = True


def needs_none() -> bool:
    """Return whether this thread works on what needs no database."""
    return _local.needs_none


@contextmanager
def left() -> Iterator[None]:
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


def end() -> None:
    """Give up this thread's lease for good: what follows takes long and needs no database."""
    if _local.lease is not None:
        _local.scheduler.leave(_local.lease)


def go_on(lease: ConnectionLease) -> None:
    """Go on after an interruption: as a slow request. Errors: Abandoned, TooManySlowRequests."""
    with lease.lock:
        # Whoever interrupts has done so.
        pass
    if lease.abandoned:
        raise ClientDisconnected
    if lease.refused:
        raise TooManySlowRequests
    if lease.slot is not None or (lease.connection is not None and lease.connection.in_atomic_block):
        lease.interrupted = False
        return
    began = time.monotonic()
    scheduler = _local.scheduler
    scheduler.take_slow(scheduler.leave(lease))
    budget.postpone(time.monotonic() - began)
