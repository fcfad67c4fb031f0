"""Hides what macOS lacks from every Python process that has this folder in PYTHONPATH."""

import ctypes
import fcntl
import multiprocessing
import os
import resource
import select
import signal
import socket
import sys
import time
from types import ModuleType
from typing import Any

CALLS: dict[ModuleType, tuple[str, ...]] = {
    os: (
        *("copy_file_range", "eventfd", "fdatasync", "getrandom", "memfd_create", "pidfd_open", "pipe2"),
        *("posix_fadvise", "posix_fallocate", "sched_getaffinity", "sched_setaffinity", "splice"),
        *("O_DIRECT", "O_PATH", "O_TMPFILE"),
    ),
    fcntl: ("F_ADD_SEALS", "F_OFD_SETLK", "F_OFD_SETLKW", "F_SETPIPE_SZ"),
    resource: ("RUSAGE_THREAD", "prlimit"),
    select: ("epoll",),
    signal: ("pidfd_send_signal", "sigtimedwait", "sigwaitinfo"),
    socket: (
        *("MSG_CMSG_CLOEXEC", "SOCK_CLOEXEC", "SOCK_NONBLOCK", "SO_BINDTODEVICE", "SO_PEERCRED"),
        *("TCP_INFO", "TCP_KEEPIDLE", "TCP_QUICKACK", "TCP_USER_TIMEOUT"),
    ),
    time: ("CLOCK_BOOTTIME", "pthread_getcpuclockid"),
}
C_FUNCTIONS = ("mallopt", "prctl")


class Library(ctypes.CDLL):
    def __getattr__(self, name: str) -> Any:
        if name in C_FUNCTIONS:
            raise AttributeError(name)
        return super().__getattr__(name)


def set_limit(kind: int, limits: tuple[int, int]) -> None:
    if kind == resource.RLIMIT_AS:
        raise ValueError("current limit exceeds maximum limit")
    _set_limit(kind, limits)


def refuse_proc(event: str, arguments: tuple[Any, ...]) -> None:
    if event not in ("open", "os.listdir", "os.scandir") or not str(arguments[0]).startswith("/proc"):
        return
    frame = sys._getframe(1)
    while frame is not None:
        if "/psutil/" in frame.f_code.co_filename:
            return
        frame = frame.f_back  # type: ignore[assignment]
    raise FileNotFoundError(2, "No such file or directory", str(arguments[0]))


_set_limit = resource.setrlimit
for module, names in CALLS.items():
    for name in names:
        # Some are not in every Python.
        if hasattr(module, name):
            delattr(module, name)
ctypes.CDLL = Library  # type: ignore[misc]
resource.setrlimit = set_limit
sys.modules["setproctitle"] = None  # type: ignore[assignment]
multiprocessing.set_start_method("spawn")
sys.addaudithook(refuse_proc)
