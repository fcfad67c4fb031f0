"""The counts of all processes of a node: a file for each process, and one for all that have ended.

A process that has begun writes its counts once a second. A file is named after its process: the pid, and the
time at which it began, since pids are used again. What a process counts in its last second is lost if it is
killed. Where the folder can't be written, for example on a full disk, the counts stay as they were.
"""

import fcntl
import os
import threading
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from multiprocessing.util import Finalize
from pathlib import Path
from typing import Any, NamedTuple

import orjson
from django.conf import settings

from mirror.core import logs
from mirror.core.metrics.kinds import METRICS, Gauge, Labels
from mirror.core.processes import process_table

log = logs.logger("mirror.metrics")

SECONDS_BETWEEN_WRITES = 1.0
_ENDED, _LOCK = "ended.json", "lock"
# How long others that move counts are waited for: one that was stopped may hold the lock for ever.
_LOCK_SECONDS, _LOOK_SECONDS = 0.3, 0.01
_LAST = -100
# The field of /proc/PID/stat that has the time at which a process began, after the name in parentheses.
_STARTED = 19


class Process(NamedTuple):
    """A process of the node that runs; `role` says what it is, such as "web worker"."""

    role: str
    pid: int


class Counts(NamedTuple):
    """The counts of a node: metric -> labels -> value, and its processes that run."""

    values: Mapping[str, Mapping[Labels, Any]]
    processes: tuple[Process, ...]


def begin(role: str) -> None:
    """Have the counts of this process written from now on, and `ps` show its role, such as "web worker"."""
    process_table.name_this(role)
    writer = Writer(role)
    writer.write()
    # At the end of whatever process: one that multiprocessing made by a fork does not know of `atexit`.
    Finalize(None, writer.write, exitpriority=_LAST)
    threading.Thread(target=writer.write_on, name="metrics", daemon=True).start()


def read() -> Counts:
    """Return the counts of all processes. Those of ended ones are moved to one file."""
    added: dict[str, dict[Labels, list[Any]]] = defaultdict(lambda: defaultdict(list))
    processes = []
    folder = _folder()
    with _locked(folder) as may_move:
        for path in list(folder.glob("*-*.json")):
            content = _content(path)
            pid, _, started = path.stem.partition("-")
            if _started(int(pid)) == started:
                processes.append(Process(content.get("role", ""), int(pid)))
            else:
                # It may have written once more after it was read.
                content = _without_gauges(_content(path))
                if may_move and _end(folder, path, content):
                    continue
            _add(added, content)
        _add(added, _content(folder / _ENDED))
    return Counts(
        {
            name: {labels: METRICS[name].sum(values) for labels, values in of_labels.items()}
            for name, of_labels in added.items()
        },
        tuple(sorted(processes)),
    )


class Writer:
    """Writes the counts of this process, while they change."""

    def __init__(self, role: str) -> None:
        self._role, self._written = role, b""
        self._pid = os.getpid()
        self._path = _folder() / f"{self._pid}-{_started(self._pid)}.json"

    def write_on(self) -> None:
        while True:
            time.sleep(SECONDS_BETWEEN_WRITES)
            try:
                self.write()
            except Exception:
                log.exception("metrics_not_written")

    def write(self) -> None:
        if os.getpid() != self._pid:
            # At the end of a process that a fork of this one has made.
            return
        values = {
            name: [[labels, value] for labels, value in metric.values().items()]
            for name, metric in METRICS.items()
        }
        content = orjson.dumps({"role": self._role, "values": values})
        if content != self._written and _write(self._path, content):
            self._written = content


def _add(added: dict[str, dict[Labels, list[Any]]], content: Mapping[str, Any]) -> None:
    for name, values in content.get("values", {}).items():
        # A process of another release may count what this one does not know, or in another way.
        if metric := METRICS.get(name):
            for labels, value in values:
                if metric.has(labels, value):
                    added[name][tuple(labels)].append(value)


def _end(folder: Path, path: Path, content: Mapping[str, Any]) -> bool:
    """Move the counts of a process that has ended; return whether they could be."""
    added: dict[str, dict[Labels, list[Any]]] = defaultdict(lambda: defaultdict(list))
    _add(added, _content(folder / _ENDED))
    _add(added, content)
    values = {
        name: [[labels, METRICS[name].sum(parts)] for labels, parts in of_labels.items()]
        for name, of_labels in added.items()
        if not isinstance(METRICS[name], Gauge)
    }
    if not _write(folder / _ENDED, orjson.dumps({"values": values})):
        return False
    with suppress(OSError):
        path.unlink()
    return True


def _folder() -> Path:
    return Path(settings.DATA_DIR, "metrics")


@contextmanager
def _locked(folder: Path) -> Iterator[bool]:
    """Lock the moving of counts, and yield whether this process may: not where there is no folder yet."""
    try:
        lock = (folder / _LOCK).open("w")
    except OSError:
        yield False
        return
    with lock:
        deadline = time.monotonic() + _LOCK_SECONDS
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                if time.monotonic() < deadline:
                    time.sleep(_LOOK_SECONDS)
                    continue
                yield False
            else:
                yield True
            return


def _without_gauges(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what remains of the counts of a process that has ended."""
    values = content.get("values", {})
    return {"values": {name: values[name] for name in values if not isinstance(METRICS.get(name), Gauge)}}


def _content(path: Path) -> dict[str, Any]:
    try:
        content: dict[str, Any] = orjson.loads(path.read_bytes())
    except (OSError, orjson.JSONDecodeError):
        return {}
    return content


def _write(path: Path, content: bytes) -> bool:
    """Write a file that is never seen half written; return whether it could be."""
    unfinished = path.with_suffix(".unfinished")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        unfinished.write_bytes(content)
        unfinished.replace(path)
    except OSError:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        return False
    return True


def _started(pid: int) -> str | None:
    """Return the time at which a process began, in the system's own units; None if it does not run."""
    try:
        stat = Path("/proc", str(pid), "stat").read_text()
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else fields[_STARTED]
