"""The processes of a node, as /proc shows them: their roles, and the resources that each of them takes.

Processes with metrics have a file of counts, which names their role. Children of a web worker run contract
calls; those of the node's own PostgreSQL are found by its data folder.
"""

import os
from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from mirror.core.metrics import files

_PAGE, _TICKS = os.sysconf("SC_PAGE_SIZE"), os.sysconf("SC_CLK_TCK")
WEB_WORKER, CALL_PROCESS, DATABASE = "web worker", "call process", "database"


class Process(NamedTuple):
    """A process; `open_files` is None for one of another user."""

    role: str
    pid: int
    processor_seconds: float
    resident_bytes: int
    open_files: int | None


class _Stat(NamedTuple):
    """What /proc/PID/stat says: see proc_pid_stat(5)."""

    parent: int
    processor_seconds: float
    resident_bytes: int


def of_node(counting: Iterable[files.Process], postgres_data: Path) -> list[Process]:
    """Return the processes of the node on this machine."""
    stats = dict(_stats())
    roles = {each.pid: each.role for each in counting if each.pid in stats}
    if (postmaster := _postmaster(postgres_data)) in stats:
        roles[postmaster] = DATABASE
    children: dict[int, list[int]] = {}
    for pid, stat in stats.items():
        children.setdefault(stat.parent, []).append(pid)
    for pid, role in list(roles.items()):
        if role in (WEB_WORKER, DATABASE):
            below = CALL_PROCESS if role == WEB_WORKER else DATABASE
            for child in _below(pid, children):
                roles.setdefault(child, below)
    return [
        Process(role, pid, stats[pid].processor_seconds, stats[pid].resident_bytes, _open_files(pid))
        for pid, role in sorted(roles.items())
    ]


def _below(pid: int, children: dict[int, list[int]]) -> Iterator[int]:
    for child in children.get(pid, ()):
        yield child
        yield from _below(child, children)


def _stats() -> Iterator[tuple[int, _Stat]]:
    for entry in os.listdir("/proc"):  # noqa: PTH208 - many times as fast as the entries as paths
        if entry.isdecimal():
            with suppress(OSError):
                fields = Path("/proc", entry, "stat").read_bytes().rpartition(b") ")[2].split()
                if fields[0] != b"Z":
                    seconds = (int(fields[11]) + int(fields[12])) / _TICKS
                    yield int(entry), _Stat(int(fields[1]), seconds, int(fields[21]) * _PAGE)


def _postmaster(data: Path) -> int:
    try:
        return int((data / "postmaster.pid").read_text().partition("\n")[0])
    except (OSError, ValueError):
        return 0


def _open_files(pid: int) -> int | None:
    try:
        return len(os.listdir(f"/proc/{pid}/fd"))  # noqa: PTH208
    except OSError:
        return None
