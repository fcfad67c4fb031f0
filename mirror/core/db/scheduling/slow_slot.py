"""Slots: the right to work on a slow request, which the processes of a server share.

A slot is two locks on files in memory. The kernel releases the locks of a process that dies. The holder of
the first lock is next in the queue, so a process that released a slot queues behind one that is waiting.
"""

import fcntl
from typing import NamedTuple

from mirror.core.processes.file_lock import try_lock
from mirror.core.processes.operating_system import memory_file, reopened


class Files(NamedTuple):
    """The files of a slot, made by the process that starts the others."""

    next: int
    used: int


def create_files() -> Files:
    return Files(memory_file("next-slow-request"), memory_file("slow-request"))


class SlowRequestSlot:
    """A slot, for the threads of one process; they have to agree which one waits for it."""

    def __init__(self, shared: Files) -> None:
        # Locks belong to an open file: processes that have it from the same parent would hold them together.
        self._next, self._used = map(reopened, shared)

    def acquire(self) -> None:
        fcntl.flock(self._next, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._used, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._next, fcntl.LOCK_UN)

    def try_acquire(self) -> bool:
        """Take it unless another process has it or waits for it; return whether it has been taken."""
        if not try_lock(self._next):
            return False
        try:
            return try_lock(self._used)
        finally:
            fcntl.flock(self._next, fcntl.LOCK_UN)

    def release(self) -> None:
        fcntl.flock(self._used, fcntl.LOCK_UN)

    def offer(self) -> bool:
        """Release it for another process that waits; return True if none waits and this one has it again."""
        self.release()
        return self.try_acquire()
