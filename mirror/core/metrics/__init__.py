"""The metrics of all processes of a node, by the multiprocess mode of prometheus-client.

Each process counts in files that it maps from a folder in memory, PROMETHEUS_MULTIPROC_DIR. They have a
number that no other running process has. The next process with that number continues its counts, so none are
lost when a process ends, and there are no more files than processes have run at the same time.

The other modules declare the metrics by subject.
"""

import fcntl
import hashlib
import itertools
import os
import stat
import tempfile
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from prometheus_client import CollectorRegistry, Gauge, generate_latest, values
from prometheus_client.metrics_core import Metric
from prometheus_client.multiprocess import MultiProcessCollector, mark_process_dead

from mirror.core import config, logs
from mirror.core.config.setting import OperatorError
from mirror.core.processes import process_table

log = logs.logger("mirror.metrics")

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
# Upper bounds of histograms, in seconds. Each makes a line of /metrics for every endpoint.
BUCKETS = (0.0025, 0.01, 0.05, 0.25, 1.0, 5.0)

_VARIABLE = "PROMETHEUS_MULTIPROC_DIR"
_SAMPLE_SECONDS = 1.0
# A report that is older was written by a process that has died or hangs.
_MAX_REPORT_SECONDS = 30.0
_OPEN_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC


class Process(NamedTuple):
    """A process of the node that runs; `role` says what it is, such as "web worker"."""

    role: str
    pid: int


def folder() -> Path:
    """Return the folder of the files in which processes count."""
    return Path(os.environ[_VARIABLE])


def report_path() -> Path:
    """Return the file with the gauges of the node, in the format of /metrics."""
    return folder() / "node.prom"


class _Number:
    """The number of this process, by the lock of a file until the process ends. A fork gets another one."""

    _pid, _value, _file = 0, 0, -1

    def __call__(self) -> int:
        if self._pid != os.getpid():
            self._take()
        return self._value

    def show(self, role: str) -> None:
        os.pwrite(self._file, f"{os.getpid()} {role}".encode(), 0)

    def text(self) -> str:
        return os.pread(self._file, 100, 0).decode()

    def touch(self) -> None:
        os.utime(self._file)

    def _take(self) -> None:
        if self._pid:
            os.close(self._file)
        for self._value in itertools.count():
            self._file = os.open(folder() / f"{self._value}.process", _OPEN_FLAGS, 0o600)
            if _lock(self._file):
                break
            os.close(self._file)
        os.ftruncate(self._file, 0)
        mark_process_dead(self._value)
        self._pid = os.getpid()


def _lock(file: int) -> bool:
    """Return whether a file is locked for this process; not if another one has it."""
    with suppress(BlockingIOError):
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _default_folder() -> str:
    """Return the folder of a node, by its user and its data folder."""
    # A full disk ends a process that writes to a mapped file.
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
    data = Path(__file__).resolve().parents[3] / config.value("data")
    name = hashlib.sha256(bytes(data.resolve())).hexdigest()[:12]
    return f"{memory}/ledger-mirror-{os.geteuid()}-{name}"


def _is_private() -> bool:
    """Return whether there is a folder that only this user can change; make it if there is none."""
    with suppress(OSError):
        folder().mkdir(mode=0o700, parents=True, exist_ok=True)
        status = folder().lstat()
        if stat.S_ISDIR(status.st_mode) and status.st_uid == os.geteuid():
            folder().chmod(0o700)
            return True
    return False


os.environ.setdefault(_VARIABLE, _default_folder())
_number = _Number()
_is_shared = _is_private()
values.ValueClass = values.MultiProcessValue(_number) if _is_shared else values.MutexValue
_sampled: list[tuple[Gauge, Callable[[], float]]] = []


def start(role: str) -> None:
    """Make this process one of the node's, which `ps` and /metrics show by its role, such as "web worker".

    Errors: OperatorError if its counts can't be shared.
    """
    process_table.set_process_name(role)
    if not _is_shared:
        raise OperatorError(
            f"The folder {folder()} can't be made, is a link, or belongs to another user: remove it, or name "
            f"another one in memory by {_VARIABLE}."
        )
    _sampled.clear()
    _number()
    _number.show(role)
    threading.Thread(target=_sample_repeatedly, name="metrics", daemon=True).start()


def sample(gauge: Gauge, read: Callable[[], float]) -> None:
    """Set a gauge to the value that `read` returns, once a second."""
    _sampled.append((gauge, read))


def set_gauges() -> None:
    """Set the sampled gauges now."""
    for gauge, read in list(_sampled):
        gauge.set(read())


def _sample_repeatedly() -> None:
    while True:
        try:
            set_gauges()
            # A probe in deploy/helm reads its time.
            _number.touch()
        except Exception:
            log.exception("metrics_not_written")
        time.sleep(_SAMPLE_SECONDS)


def processes() -> list[Process]:
    """Return the processes of the node that run. The gauges of others are removed."""
    found = []
    for path in folder().glob("*.process"):
        pid, _, role = _text(path).partition(" ")
        if role:
            found.append(Process(role, int(pid)))
    return sorted(found)


def _text(path: Path) -> str:
    """Return the pid and role of a process; empty if it has ended, or is none of the node's."""
    number = int(path.stem)
    if number == _number():
        # Another opening of the file that is closed would release the lock.
        return _number.text()
    with path.open("r+") as file:
        if _lock(file.fileno()):
            mark_process_dead(number)
            return ""
        return file.read()


def families() -> Iterable[Metric]:
    """Return the metrics that processes have counted, each with the sum of all processes."""
    processes()
    collected: Iterable[Metric] = MultiProcessCollector(None, folder()).collect()
    return collected


def text() -> bytes:
    """Return all metrics in the format of Prometheus."""
    processes()
    registry = CollectorRegistry()
    MultiProcessCollector(registry, folder())
    return generate_latest(registry) + _report()


def _report() -> bytes:
    """Return the gauges of the node; none if they are old."""
    with suppress(OSError), report_path().open("rb") as file:
        if time.time() - os.fstat(file.fileno()).st_mtime < _MAX_REPORT_SECONDS:
            return file.read()
    return b""
