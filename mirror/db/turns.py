"""Turns: at most `web.threads` quick requests and `web.slowThreads` slow ones are worked on at a time.

Each turn has a database connection. A thread with a turn does one request after the other: handing a turn
from thread to thread takes longer than a short request.

A request that has had its turn for `web.slowAfter` is slow. It goes on as one of the few slow ones, and
another quick turn takes the place of its own. If there are as many slow ones already, and quick ones wait,
its statement is cancelled; it leaves its turn, and runs the statement again once a slow request has ended.
"""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, cast

import psycopg
from django.db import DEFAULT_DB_ALIAS, connections

from mirror import config
from mirror.db import budget

if TYPE_CHECKING:
    from mirror.db.backend.base import DatabaseWrapper

log = logging.getLogger("mirror.db")

#: What a turn is used for; it must not raise.
Work = Callable[[], None]

_LOOK_SECONDS = 0.025
_CANCEL_SECONDS = 1.0
# Slow requests that wait for others, and the setting for how long; threads that are kept while idle.
_MOST_SLOW_WAITING, _SLOW_WAIT, _MOST_RESTING = 64, "rest.db.statementTimeout", 8


class TooManySlow(Exception):
    """Other requests take too long for this one, which is slow as well, to go on."""


class Abandoned(Exception):
    """Nobody waits for the answer any more."""


class Turn:
    """The right to work, with a connection to do it."""

    def __init__(self, connection: "DatabaseWrapper | None" = None, *, slow: bool = False) -> None:
        self.connection, self.slow = connection, slow
        self.work: Work | None = None
        self.began = 0.0
        # Set by others: the work has to call `go_on` before its next statement.
        self.interrupted = self.abandoned = False
        #: Whether a statement of `mirror.db.sql` runs, which may be cancelled.
        self.reading = False
        #: Whether the connection must not be used for other work.
        self.spoiled = False
        # Held while the work is interrupted, so that it ends neither itself nor the statement of another.
        self.lock = threading.Lock()

    def use_for(self, work: Work | None) -> None:
        self.interrupted = self.abandoned = self.reading = False
        # Others look at the work first, and then at these.
        self.began = time.monotonic()
        self.work = work

    def interrupt(self) -> None:
        """Cancel the statement that runs; the caller holds the lock."""
        self.interrupted = True
        wrapper = self.connection
        # The thread that works may be replacing one that is broken.
        connection = None if wrapper is None or wrapper.in_atomic_block else wrapper.connection
        if self.reading and connection is not None:
            try:
                connection.cancel_safe(timeout=_CANCEL_SECONDS)
            except psycopg.Error as error:
                # It may reach the server later, and would end the statement of another.
                self.spoiled = True
                log.warning("event=statement_not_cancelled error=%r", str(error))


class _Baton:
    """Wakes one thread, and hands it a turn."""

    def __init__(self) -> None:
        self._given = threading.Lock()
        self._given.acquire()
        self._turn: Turn | None = None

    def give(self, turn: Turn) -> None:
        self._turn = turn
        self._given.release()

    def wait(self, seconds: float = -1) -> Turn | None:
        return self._turn if self._given.acquire(timeout=seconds) else None


class _Local(threading.local):
    turns: "Turns"
    turn: Turn | None = None


_local = _Local()


class Turns:
    """The turns of a process, and its threads that work."""

    def __init__(self, quick: int, slow: int = 0, slow_after: float = 0.0) -> None:
        self._slow_after = slow_after
        self._lock = threading.Lock()
        self._free = [Turn() for _ in range(quick)]
        self._slow_free = slow
        # Connections of slow turns that have ended.
        self._spare: list[DatabaseWrapper] = []
        # Work, and threads that have left their turn and want one again, in the order in which they asked.
        self._waiting: deque[Work | _Baton] = deque()
        self._slow_waiting: deque[_Baton] = deque()
        self._resting: list[_Baton] = []
        self._used: set[Turn] = set()

    def submit(self, work: Work) -> None:
        """Have work done as soon as there is a turn, by a thread that has it."""
        with self._lock:
            if not self._free:
                self._waiting.append(work)
                return
            turn = self._free.pop()
        self._begin(turn, work)

    def used_for(self, seconds: float) -> list[tuple[Turn, Work]]:
        """Return the turns that have been used for so long, with what they are used for."""
        latest = time.monotonic() - seconds
        return [(turn, work) for turn in list(self._used) if turn.began < latest and (work := turn.work)]

    def abandon(self, turn: Turn, work: Work) -> None:
        """End work that nobody waits for, if it still goes on."""
        with turn.lock:
            if turn.work is work:
                turn.abandoned = True
                turn.interrupt()

    def watch(self) -> None:
        """Keep slow requests from holding up quick ones, for ever."""
        while True:
            time.sleep(_LOOK_SECONDS)
            for turn, work in self.used_for(self._slow_after):
                if not turn.slow and not turn.interrupted:
                    self._make_slow(turn, work)

    def _make_slow(self, turn: Turn, work: Work) -> None:
        with turn.lock:
            if turn.work is not work:
                return
            with self._lock:
                is_free = self._slow_free > 0
                if is_free:
                    self._slow_free -= 1
                    turn.slow = True
                    instead = Turn(self._spare.pop() if self._spare else None)
                elif not self._waiting:
                    return
            if not is_free:
                turn.interrupt()
                return
        self._hand_on(instead)

    # THREADS

    def _begin(self, turn: Turn, work: Work) -> None:
        """Work with a turn, in another thread."""
        turn.use_for(work)
        with self._lock:
            thread = self._resting.pop() if self._resting else None
        if thread is not None:
            thread.give(turn)
            return
        try:
            threading.Thread(target=self._thread, args=(turn,), daemon=True).start()
        except BaseException:
            # There may be too many threads for one more. The turn is for whoever comes next.
            with self._lock:
                turn.work = None
                self._free.append(turn)
            raise

    def _thread(self, turn: Turn | None) -> None:
        baton = _Baton()
        while turn is not None:
            self._attach(turn)
            self._work()
            with self._lock:
                if len(self._resting) >= _MOST_RESTING:
                    return
                self._resting.append(baton)
            turn = baton.wait()

    def _work(self) -> None:
        """Do one work after the other, as long as some is waiting and this thread has a turn."""
        while (turn := _local.turn) is not None and turn.work is not None:
            try:
                turn.work()
            except BaseException:
                # Whatever it was, the turn is for others, too. There may be no memory to tell of it.
                with suppress(BaseException):
                    log.error("event=unexpected_error", exc_info=True)
            # Work may have left its turn and got another one.
            if (turn := _local.turn) is None:
                return
            self._finish(turn)
            with self._lock:
                if not turn.slow and self._waiting and not isinstance(self._waiting[0], _Baton):
                    turn.use_for(cast(Work, self._waiting.popleft()))
        if turn is not None:
            self._give_up(turn)

    def _finish(self, turn: Turn) -> None:
        """End the use of a turn, once nobody interrupts it any more."""
        with turn.lock:
            turn.work = None
        connection = turn.connection
        if connection is None:
            return
        if turn.spoiled:
            turn.spoiled = False
            connection.close()
        elif connection.errors_occurred:
            connection.close_if_unusable_or_obsolete()

    def _attach(self, turn: Turn) -> None:
        """Make a turn this thread's."""
        if turn.connection is None:
            turn.connection = cast("DatabaseWrapper", connections[DEFAULT_DB_ALIAS])
            turn.connection.inc_thread_sharing()
        else:
            connections[DEFAULT_DB_ALIAS] = turn.connection
        turn.connection.turn = _local.turn = turn
        _local.turns = self
        self._used.add(turn)

    def _give_up(self, turn: Turn) -> None:
        """Let others have this thread's turn."""
        self._finish(turn)
        self._used.discard(turn)
        del connections[DEFAULT_DB_ALIAS]
        _local.turn = None
        if turn.connection is not None:
            turn.connection.turn = None
        self._hand_on(turn)

    def _hand_on(self, turn: Turn) -> None:
        """Give a turn that nobody has to the next who waits for such a one."""
        with self._lock:
            waiting = self._slow_waiting if turn.slow else self._waiting
            if waiting:
                following: Work | _Baton = waiting.popleft()
            elif turn.slow:
                self._slow_free += 1
                if turn.connection is not None:
                    self._spare.append(turn.connection)
                return
            else:
                self._free.append(turn)
                return
        if isinstance(following, _Baton):
            following.give(turn)
        else:
            self._begin(turn, following)

    # WORK THAT LEAVES ITS TURN

    @contextmanager
    def taken(self) -> Iterator[None]:
        """Work in this thread, with a turn that is waited for."""
        self.take(None)
        try:
            yield
        finally:
            end()

    def leave(self, turn: Turn) -> Work | None:
        """Give up this thread's turn; return what it was used for."""
        work = turn.work
        self._give_up(turn)
        return work

    def take(self, work: Work | None) -> None:
        """Wait for a turn."""
        baton = None
        with self._lock:
            if self._free:
                turn: Turn | None = self._free.pop()
            else:
                baton = _Baton()
                self._waiting.append(baton)
        if baton is not None:
            turn = baton.wait()
        assert turn is not None
        turn.use_for(work)
        self._attach(turn)

    def take_slow(self, work: Work | None) -> None:
        """Wait for the turn of a slow request. Errors: TooManySlow, with a quick turn."""
        baton = turn = None
        with self._lock:
            if self._slow_free:
                self._slow_free -= 1
                turn = Turn(self._spare.pop() if self._spare else None, slow=True)
            elif len(self._slow_waiting) < _MOST_SLOW_WAITING:
                baton = _Baton()
                self._slow_waiting.append(baton)
        if baton is not None:
            turn = baton.wait(config.value(_SLOW_WAIT)) or self._given_at_last(baton)
        if turn is None:
            self.take(work)
            raise TooManySlow
        turn.use_for(work)
        self._attach(turn)

    def _given_at_last(self, baton: _Baton) -> Turn | None:
        """Stop waiting; return the turn that was given meanwhile, if any."""
        with self._lock:
            if baton in self._slow_waiting:
                self._slow_waiting.remove(baton)
                return None
        return baton.wait()


@contextmanager
def left() -> Iterator[None]:
    """Give up this thread's turn during the block, and wait for one after it; do nothing without a turn."""
    turn = _local.turn
    if turn is None or (turn.connection is not None and turn.connection.in_atomic_block):
        # A transaction stays with its connection.
        yield
        return
    turns = _local.turns
    work = turns.leave(turn)
    try:
        yield
    finally:
        turns.take(work)


def end() -> None:
    """Give up this thread's turn for good: what follows takes long and needs no database."""
    if _local.turn is not None:
        _local.turns.leave(_local.turn)


def go_on(turn: Turn) -> None:
    """Go on after an interruption: as a slow request. Errors: Abandoned, TooManySlow."""
    with turn.lock:
        # Whoever interrupts has done so.
        pass
    if turn.abandoned:
        raise Abandoned
    if turn.slow or (turn.connection is not None and turn.connection.in_atomic_block):
        turn.interrupted = False
        return
    began = time.monotonic()
    turns = _local.turns
    turns.take_slow(turns.leave(turn))
    budget.postpone(time.monotonic() - began)
