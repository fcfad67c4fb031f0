"""What the processes of a node know of its database's servers, in memory that they share.

It holds the newest block that any of them has answered from, and of each server its state and the newest
block it is known to have. Each number is written at once; only the newest answered one needs a lock, as it
must never fall by accident.
"""

import fcntl
import mmap
import os
import threading
import time
from enum import IntEnum
from typing import NamedTuple

_CELL = 8
# Of the node: the newest block answered from, when the servers were last looked at, and when an answer was
# last computed.
_ANSWERED, _LOOKED, _COMPUTED = range(3)
_OF_NODE = 3
# Of each server.
_STATE, _BLOCK, _LAG, _GIVEN_UP = range(4)
_OF_SERVER = 4
#: A database without any block.
NO_BLOCK = -1
# The bytes of the file that processes lock.
_ANSWERED_LOCK, _WATCHER_LOCK = range(2)


class State(IntEnum):
    """A server, by what was last known of it."""

    UNKNOWN = 0
    WELL = 1
    # A replica that is further behind than db.readMaxLag.
    BEHIND = 2
    AWAY = 3


class Known(NamedTuple):
    """What is known of a server: `lag` is in seconds."""

    state: State
    block: int
    lag: float


def made(servers: int) -> int:
    """Make the memory for so many servers, in the process that starts the others; return its file."""
    file = os.memfd_create("replicas")
    os.ftruncate(file, (_OF_NODE + _OF_SERVER * servers) * _CELL)
    board = Board(file, servers)
    board.forget_answered(NO_BLOCK)
    for place in range(servers):
        board.note(place, NO_BLOCK)
    return file


class Board:
    """The memory of `made`, in a process."""

    def __init__(self, file: int, servers: int) -> None:
        self.file = file
        self._cells = memoryview(mmap.mmap(file, (_OF_NODE + _OF_SERVER * servers) * _CELL)).cast("q")
        self._lock = threading.Lock()

    # ANSWERS

    @property
    def answered(self) -> int:
        """The newest block that any process has answered from."""
        return self._cells[_ANSWERED]

    def answer_from(self, block: int) -> None:
        """Note that an answer rests on a block."""
        if block <= self._cells[_ANSWERED]:
            return
        with self._lock:
            fcntl.lockf(self.file, fcntl.LOCK_EX, 1, _ANSWERED_LOCK)
            try:
                if block > self._cells[_ANSWERED]:
                    self._cells[_ANSWERED] = block
            finally:
                fcntl.lockf(self.file, fcntl.LOCK_UN, 1, _ANSWERED_LOCK)

    def forget_answered(self, block: int) -> None:
        """Go back to a block: no server has what was answered from."""
        self._cells[_ANSWERED] = block

    def computed(self) -> None:
        """Note that an answer has been computed."""
        self._cells[_COMPUTED] = time.monotonic_ns()

    @property
    def is_looked_after(self) -> bool:
        """Whether no answer has been computed since the servers were last looked at."""
        return self._cells[_COMPUTED] <= self._cells[_LOOKED]

    @property
    def seconds_since_look(self) -> float:
        return (time.monotonic_ns() - self._cells[_LOOKED]) / 1e9

    # SERVERS

    def of(self, place: int) -> Known:
        """Return what is known of a server."""
        cell = _OF_NODE + place * _OF_SERVER
        state, block, lag, _ = self._cells[cell : cell + _OF_SERVER]
        return Known(State(state), block, lag / 1000)

    def state(self, place: int) -> int:
        return self._cells[_OF_NODE + place * _OF_SERVER + _STATE]

    def block(self, place: int) -> int:
        return self._cells[_OF_NODE + place * _OF_SERVER + _BLOCK]

    def note(self, place: int, block: int) -> None:
        """Note the newest block of a server."""
        self._cells[_OF_NODE + place * _OF_SERVER + _BLOCK] = block

    def judge(self, place: int, state: State, lag: float = 0.0) -> None:
        """Note the state of a server, as the watcher finds it."""
        cell = _OF_NODE + place * _OF_SERVER
        self._cells[cell + _STATE], self._cells[cell + _LAG] = state, round(lag * 1000)
        self._cells[cell + _GIVEN_UP] = state is State.AWAY

    def avoid(self, place: int) -> None:
        """Take a failed server out of rotation until a health check passes."""
        self._cells[_OF_NODE + place * _OF_SERVER + _STATE] = State.AWAY

    def is_given_up(self, place: int) -> bool:
        """Return whether a server is unavailable, so that waiting for it is needless."""
        return bool(self._cells[_OF_NODE + place * _OF_SERVER + _GIVEN_UP])

    # WATCHING

    def may_watch(self) -> bool:
        """Return whether this process is the one that watches the servers; another follows if it dies."""
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _WATCHER_LOCK)
        except OSError:
            return False
        return True

    def looked(self) -> None:
        self._cells[_LOOKED] = time.monotonic_ns()
