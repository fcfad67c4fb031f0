"""Granian's threads: a few take requests, the others rest.

Granian starts another thread for each request that finds none waiting. Were all of them to take requests,
their turns at the interpreter would cost a fifth of the time of a short one.
"""

import threading
import time

#: After how long granian ends a thread that has had no request, the first one excepted.
IDLE_SECONDS = 30
# How long a thread rests. It is less than that, so that granian always has a thread that waits.
_REST_SECONDS = 10.0
# A thread whose request takes longer is held up: another takes the next one.
_LONG_SECONDS = 0.025


class ReadyThreads:
    """The threads of a process that take requests: `number` of them, without those that are held up.

    If it is 0, all take requests, and none works on them.
    """

    def __init__(self, number: int) -> None:
        self._number = number
        # Thread -> when its latest request began or ended.
        self._ready: dict[int, float] = {}
        # Thread -> when its request began; of those that it does one after the other, the latest.
        self._busy: dict[int, float] = {}
        self._wanted = threading.Condition()

    @property
    def may_work(self) -> bool:
        """Whether a thread may work on its request: enough others take requests meanwhile."""
        return len(self._busy) <= 2 * self._number

    def begin(self) -> None:
        """Note that granian has called this thread."""
        self._busy[threading.get_ident()] = time.monotonic()

    def proceed(self, now: float) -> None:
        """Note that this thread begins to work on a request, if it is one of granian's."""
        thread = threading.get_ident()
        if thread in self._busy:
            self._busy[thread] = self._ready[thread] = now

    def hand_over(self) -> None:
        """Have another thread take the place of this one, which may wait long for a body."""
        with self._wanted:
            if self._ready.pop(threading.get_ident(), None) is not None:
                self._wanted.notify()

    def end(self) -> None:
        """Have this thread rest, before it returns to granian, if enough others are ready."""
        thread, now = threading.get_ident(), time.monotonic()
        self._busy.pop(thread, None)
        # With the lock, so that it does not miss that a ready one is held up.
        with self._wanted:
            if self._number and len(self._ready) >= self._number + (thread in self._ready):
                unused = (each for each, latest in list(self._ready.items()) if latest < now - _REST_SECONDS)
                replaced = next((each for each in unused if each not in self._busy), thread)
                self._ready.pop(replaced, None)
                if replaced == thread and not self._wanted.wait(_REST_SECONDS):
                    return
            # It is ready now, so that another takes its place in turn if a slow body holds it up.
            self._ready[thread] = time.monotonic()

    def check(self) -> float:
        """Have others take the place of threads that are held up; a repeated check."""
        latest = time.monotonic() - _LONG_SECONDS
        for thread, began in list(self._busy.items()):
            with self._wanted:
                if began < latest and self._ready.pop(thread, None) is not None:
                    self._wanted.notify()
        return _LONG_SECONDS
