"""Calls of Linux that other systems lack, each with a portable form.

A function uses its portable form where the call is missing, whatever the system is called. What has none is
off there: the caller gets None, or nothing happens.
"""

import ctypes
import errno
import os
import resource
import socket
import stat
import tempfile
import threading
import time
from contextlib import suppress
from multiprocessing.util import Finalize
from pathlib import Path

import psutil

_PR_SET_PDEATHSIG = 1
_PARENT_CHECK_SECONDS = 0.2
# Some containers allow a billion, over which a few programs loop.
_MAX_DESCRIPTORS = 65_536

# How likely the kernel ends a process when memory runs out: see proc_pid_oom_score_adj(5).
_OOM_SCORE = Path("/proc/self/oom_score_adj")
_OOM_STEP, _MAX_OOM_SCORE = 100, 1000
# Of malloc.h.
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD, _M_ARENA_MAX = -1, -3, -8
_LARGE_BYTES = 128 << 10

# The paths of files that are not in memory, by descriptor.
_paths: dict[int, str] = {}


def memory_file(name: str, size: int = 0) -> int:
    """Return a new file of zeros in memory, or a temporary one that is removed at the end of this process."""
    if hasattr(os, "memfd_create"):
        file: int = os.memfd_create(name)
        os.ftruncate(file, size)
        return file
    file, path = tempfile.mkstemp(prefix=f"{name}-")
    Finalize(None, os.unlink, (path,), exitpriority=0)
    _paths[file] = path
    allocate(file, size)
    return file


def allocate(file: int, size: int) -> None:
    """Reserve disk space for a file that is mapped: without it, a write to a full disk ends the process.

    Errors: OSError, such as for a full disk.
    """
    if hasattr(os, "posix_fallocate"):
        if size:
            os.posix_fallocate(file, 0, size)
    else:
        present = os.fstat(file).st_size
        missing = max(size - present, 0)
        if os.pwrite(file, bytes(missing), present) < missing:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def raise_descriptor_limit() -> int:
    """Raise how many files this process, and those that it starts, may have open; return the limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _MAX_DESCRIPTORS if hard == resource.RLIM_INFINITY else min(hard, _MAX_DESCRIPTORS)
    if soft == resource.RLIM_INFINITY:
        return _MAX_DESCRIPTORS
    while wanted > soft:
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
        except (OSError, ValueError):
            # macOS names no hard limit, and has one.
            wanted //= 2
        else:
            return wanted
    return soft


def share_heap() -> None:
    """Have the threads of this process, before it starts any, share a heap that shrinks again (glibc).

    Left to itself, glibc makes a heap for each of many threads, and never returns what one long answer took.
    """
    if mallopt := getattr(ctypes.CDLL(None), "mallopt", None):
        mallopt(_M_ARENA_MAX, 1)
        mallopt(_M_MMAP_THRESHOLD, _LARGE_BYTES)
        mallopt(_M_TRIM_THRESHOLD, _LARGE_BYTES)


def usable_processors() -> int:
    """Return the number of processors that this process may use, or of all."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def signal_after(parent: int | None, number: int) -> None:
    """Have this process get a signal when its parent ends: from the kernel, or soon after from a thread."""

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_PARENT_CHECK_SECONDS)
        os.kill(os.getpid(), number)

    if prctl := getattr(ctypes.CDLL(None), "prctl", None):
        prctl(_PR_SET_PDEATHSIG, number)
    if not prctl or os.getppid() != parent:
        threading.Thread(target=watch, name="parent", daemon=True).start()


def lower_thread_priority(pid: int, niceness: int) -> None:
    """Lower the priority of all threads but the first. Errors: OSError, also where threads have none."""
    for thread in Path(f"/proc/{pid}/task").iterdir():
        if thread.name != str(pid):
            os.setpriority(os.PRIO_PROCESS, int(thread.name), niceness)


def become_expendable() -> None:
    """Have the kernel end this process, and its children, before its parent when memory runs out.

    A tenth of the machine's memory is added to what they count as taking.
    """
    # Systems without /proc choose by themselves; a container may have it read-only.
    with suppress(OSError):
        _OOM_SCORE.write_text(str(min(int(_OOM_SCORE.read_text()) + _OOM_STEP, _MAX_OOM_SCORE)))


def set_tcp_user_timeout(listening: socket.socket, seconds: float) -> None:
    """Have the kernel close connections whose clients take nothing for so long; set it before `listen`."""
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(seconds * 1000))


def processor_seconds(pid: int) -> float | None:
    """Return the processor time that a process has taken; None if it has ended."""
    try:
        if hasattr(time, "pthread_getcpuclockid"):
            # How Linux numbers the clock of all threads of a process: see clock_getcpuclockid(3).
            return time.clock_gettime(~pid << 3 | 2)
        times = psutil.Process(pid).cpu_times()
    except (OSError, psutil.Error):
        return None
    return times.user + times.system


# SOCKETS


_DESCRIPTORS = Path("/dev/fd")


def open_descriptors() -> list[int]:
    """Return all descriptors that are open, also those of files."""
    return [int(path.name) for path in list(_DESCRIPTORS.iterdir())]


def duplicate(descriptor: int) -> socket.socket:
    """Return the socket of a descriptor with another descriptor, which no other thread closes.

    Errors: OSError, also for a descriptor of a file: closing a duplicate of that would release every record
    lock (fcntl) that this process holds on the file.
    """
    if not stat.S_ISSOCK(os.fstat(descriptor).st_mode):
        raise OSError(f"{descriptor} is not the descriptor of a socket")
    copy = os.dup(descriptor)
    try:
        return socket.socket(fileno=copy)
    except OSError:
        os.close(copy)
        raise
