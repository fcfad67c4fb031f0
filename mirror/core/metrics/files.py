"""The counts of all processes of a node: a file for each process, and one for all that have ended.

A process that has begun writes its counts once a second. A file is named after its process: the pid, and its
identity, since pids are used again. What a process counts in its last second is lost if it is
killed. Where the folder can't be written, for example on a full disk, the counts stay as they were.
"""

import os
import stat
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
from mirror.core.config.errors import OperatorError
from mirror.core.metrics.types import METRICS, Gauge, Labels
from mirror.core.processes import process_table
from mirror.core.processes.file_lock import try_lock

log = logs.logger("mirror.metrics")

SECONDS_BETWEEN_WRITES = 1.0
_ENDED, _LOCK = "ended.json", "lock"
# How long others that move counts are waited for.
_LOCK_SECONDS = 0.3
_LAST = -100
# Another user can't have it lead elsewhere.
_NEW_FILE = os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC


class Process(NamedTuple):
    """A process of the node that runs; `role` says what it is, such as "web worker"."""

    role: str
    pid: int


class Counts(NamedTuple):
    """The counts of a node: metric -> labels -> value, and its processes that run."""

    values: Mapping[str, Mapping[Labels, Any]]
    processes: tuple[Process, ...]


def start_writing(role: str) -> None:
    """Have the counts of this process written from now on, and `ps` show its role, such as "web worker".

    Errors: OperatorError if the folder is another user's.
    """
    process_table.set_process_name(role)
    _make_private(_folder())
    writer = Writer(role)
    writer.write()
    # At the end of whatever process: one that multiprocessing made by a fork does not know of `atexit`.
    Finalize(None, writer.write, exitpriority=_LAST)
    threading.Thread(target=writer.write_loop, name="metrics", daemon=True).start()


def read() -> Counts:
    """Return the counts of all processes. Those of ended ones are moved to one file."""
    counts, ended, gone, processes = _Sums(), _Sums(), [], []
    folder = _folder()
    with _moving(folder) as may_move:
        for path in list(folder.glob("*-*.json")):
            pid, _, identity = path.stem.partition("-")
            if process_table.identity(int(pid)) == identity:
                content = _content(path)
                processes.append(Process(content.get("role", ""), int(pid)))
                counts.add(content)
            else:
                ended.add(_without_gauges(_content(path)))
                gone.append(path)
        ended.add(_content(folder / _ENDED))
        if gone and may_move and _write(folder / _ENDED, _json("", ended.values())):
            for path in gone:
                with suppress(OSError):
                    path.unlink()
    counts.add({"values": {name: of_labels.items() for name, of_labels in ended.values().items()}})
    return Counts(counts.values(), tuple(sorted(processes)))


@contextmanager
def _moving(folder: Path) -> Iterator[bool]:
    """Yield whether this process may move counts, as no other one does meanwhile: not without a folder."""
    try:
        lock = os.open(folder / _LOCK, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    except OSError:
        yield False
        return
    with os.fdopen(lock, "w"):
        yield try_lock(lock, _LOCK_SECONDS)


class _Sums:
    """The counts of several processes: metric -> labels -> values."""

    def __init__(self) -> None:
        self._parts: dict[str, dict[Labels, list[Any]]] = defaultdict(lambda: defaultdict(list))

    def add(self, content: Mapping[str, Any]) -> None:
        for name, values in content.get("values", {}).items():
            # A process of another release may count what this one does not know, or in another way.
            if metric := METRICS.get(name):
                for labels, value in values:
                    if metric.accepts(labels, value):
                        self._parts[name][tuple(labels)].append(value)

    def values(self) -> dict[str, dict[Labels, Any]]:
        return {
            name: {labels: METRICS[name].sum(parts) for labels, parts in of_labels.items()}
            for name, of_labels in self._parts.items()
        }


class Writer:
    """Writes the counts of this process, while they change."""

    def __init__(self, role: str) -> None:
        self._role, self._written = role, b""
        self._pid = os.getpid()
        self._path = _folder() / f"{self._pid}-{process_table.identity(self._pid)}.json"

    def write_loop(self) -> None:
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
        content = _json(self._role, {name: metric.values() for name, metric in METRICS.items()})
        if content != self._written and _write(self._path, content):
            self._written = content
        else:
            # Its time shows that the process runs: a probe in deploy/helm reads it.
            with suppress(OSError):
                os.utime(self._path)


def _json(role: str, values: Mapping[str, Mapping[Labels, Any]]) -> bytes:
    pairs = {name: [*of_labels.items()] for name, of_labels in values.items()}
    return orjson.dumps({"role": role, "values": pairs})


def _folder() -> Path:
    return Path(settings.DATA_DIR, "metrics")


def _make_private(folder: Path) -> None:
    """Let only this user read and change the counts. Errors: OperatorError for a folder of another user."""
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder.lstat()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.geteuid():
            raise OperatorError(
                f"The folder {folder} is a link, or another user's, who could change the counts of this "
                "node: remove it, and the node makes it anew."
            )
        folder.chmod(0o700)
        for path in folder.iterdir():
            # Another process may have replaced it. An older release has let others read it.
            with suppress(OSError):
                if path.is_symlink():
                    path.unlink()
                else:
                    path.chmod(0o600)


def _without_gauges(content: Mapping[str, Any]) -> dict[str, Any]:
    """Return what remains of the counts of a process that has ended."""
    values = content.get("values", {})
    return {"values": {name: values[name] for name in values if not isinstance(METRICS.get(name), Gauge)}}


def _content(path: Path) -> dict[str, Any]:
    with suppress(OSError, orjson.JSONDecodeError):
        return dict(orjson.loads(path.read_bytes()))
    return {}


def _write(path: Path, content: bytes) -> bool:
    """Write a file that is never seen half written; return whether it could be."""
    unfinished = path.with_suffix(".unfinished")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with os.fdopen(os.open(unfinished, _NEW_FILE, 0o600), "wb") as file:
            file.write(content)
        unfinished.replace(path)
    except OSError:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)
        return False
    return True
