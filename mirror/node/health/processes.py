"""The processes of a node: their roles, and the resources that each of them takes.

Processes with metrics have a file that names their role. Children of a web worker run contract
calls; those of the node's own PostgreSQL are found by its data folder.
"""

from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil

from mirror.core import metrics

WEB_WORKER, CALL_PROCESS, DATABASE = "web worker", "call process", "database"


class Process(NamedTuple):
    """A process; `open_files` is None for one of another user."""

    role: str
    pid: int
    processor_seconds: float
    resident_bytes: int
    open_files: int | None


def node_processes(counting: Iterable[metrics.Process], postgres_data: Path) -> list[Process]:
    roles = {each.pid: each.role for each in counting}
    with suppress(OSError, ValueError):
        roles[int((postgres_data / "postmaster.pid").read_text().partition("\n")[0])] = DATABASE
    # Not psutil's own children: it fails for a process of another user that it may not see.
    parents = {each.pid: each.info["ppid"] for each in psutil.process_iter(["ppid"])}
    roles |= {pid: role for pid in parents if pid not in roles and (role := _inherited(pid, roles, parents))}
    found = []
    for pid, role in sorted(roles.items()):
        with suppress(psutil.Error):
            process = psutil.Process(pid)
            with process.oneshot():
                times, memory, open_files = process.cpu_times(), process.memory_info(), None
                if process.status() == psutil.STATUS_ZOMBIE:
                    continue
            with suppress(psutil.AccessDenied):
                open_files = process.num_fds()
            found.append(Process(role, pid, times.user + times.system, memory.rss, open_files))
    return found


def _inherited(pid: int, roles: Mapping[int, str], parents: Mapping[int, int | None]) -> str | None:
    """Return the role of a process below one with a role of its own."""
    at = parents[pid]
    while at and at not in roles:
        at = parents.get(at)
    return {WEB_WORKER: CALL_PROCESS, DATABASE: DATABASE}.get(roles[at]) if at else None
