"""The states of the database's servers, in memory that the processes of a node share.

It holds the newest block that any of them has answered from, and of each server its state and the newest
block it is known to have. Each number is written at once; only the newest answered one needs a lock, as it
must never fall by accident.
"""

import fcntl
import mmap
import threading
from enum import IntEnum
from typing import NamedTuple

from mirror.core.processes.operating_system import memory_file

_CELL = 8
# Of the node: the newest block answered from.
_ANSWERED, _NODE_CELLS = 0, 1
# Of each server.
_STATE, _BLOCK, _LAG, _UNAVAILABLE = range(4)
_SERVER_CELLS = 4
#: A database without any block.
NO_BLOCK = -1
# The bytes of the file that processes lock.
_ANSWERED_LOCK, _WATCHER_LOCK = range(2)


class State(IntEnum):
    """The last known state of a server."""

    UNKNOWN = 0
    WELL = 1
    # A replica that is further behind than db.readMaxLag.
    BEHIND = 2
    AWAY = 3


class ServerStatus(NamedTuple):
    """The last known status of a server: `lag` is in seconds."""

    state: State
    block: int
    lag: float


def create(servers: int) -> int:
    """Make the memory for so many servers, in the process that starts the others; return its file."""
    file = memory_file("replicas", (_NODE_CELLS + _SERVER_CELLS * servers) * _CELL)
    scoreboard = Scoreboard(file, servers)
    scoreboard.reset_answered(NO_BLOCK)
    for server in range(servers):
        scoreboard.set_block(server, NO_BLOCK)
    return file


class Scoreboard:
    """The memory of `create`, in a process."""

    def __init__(self, file: int, servers: int) -> None:
        self.file = file
        self._cells = memoryview(mmap.mmap(file, (_NODE_CELLS + _SERVER_CELLS * servers) * _CELL)).cast("q")
        self._lock = threading.Lock()

    # ANSWERS

    @property
    def newest_answered(self) -> int:
        return self._cells[_ANSWERED]

    def record_answered(self, block: int) -> None:
        if block <= self._cells[_ANSWERED]:
            return
        with self._lock:
            fcntl.lockf(self.file, fcntl.LOCK_EX, 1, _ANSWERED_LOCK)
            try:
                if block > self._cells[_ANSWERED]:
                    self._cells[_ANSWERED] = block
            finally:
                fcntl.lockf(self.file, fcntl.LOCK_UN, 1, _ANSWERED_LOCK)

    def reset_answered(self, block: int) -> None:
        """Reset to a block: no server has the newest answered one."""
        self._cells[_ANSWERED] = block

    # SERVERS

    def status(self, server: int) -> ServerStatus:
        first = _NODE_CELLS + server * _SERVER_CELLS
        state, block, lag, _ = self._cells[first : first + _SERVER_CELLS]
        return ServerStatus(State(state), block, lag / 1000)

    def state(self, server: int) -> int:
        return self._cells[_NODE_CELLS + server * _SERVER_CELLS + _STATE]

    def block(self, server: int) -> int:
        return self._cells[_NODE_CELLS + server * _SERVER_CELLS + _BLOCK]

    def set_block(self, server: int, block: int) -> None:
        self._cells[_NODE_CELLS + server * _SERVER_CELLS + _BLOCK] = block

    def set_state(self, server: int, state: State, lag: float = 0.0) -> None:
        """Record the state of a server, as the watcher finds it."""
        first = _NODE_CELLS + server * _SERVER_CELLS
        self._cells[first + _STATE], self._cells[first + _LAG] = state, round(lag * 1000)
        self._cells[first + _UNAVAILABLE] = state is State.AWAY

    def mark_unavailable(self, server: int) -> None:
        """Take a failed server out of rotation until a health check passes."""
        self._cells[_NODE_CELLS + server * _SERVER_CELLS + _STATE] = State.AWAY

    def is_unavailable(self, server: int) -> bool:
        """Return whether a server is unavailable, so that waiting for it is needless."""
        return bool(self._cells[_NODE_CELLS + server * _SERVER_CELLS + _UNAVAILABLE])

    # WATCHING

    def try_to_watch(self) -> bool:
        """Return whether this process is the one that watches the servers; another follows if it dies."""
        try:
            fcntl.lockf(self.file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _WATCHER_LOCK)
        except OSError:
            return False
        return True
