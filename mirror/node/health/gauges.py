"""The gauges of the node, which one of its web workers reads every five seconds: no scrape waits for them.

Those of the database are read with the node's health, which has a time limit. The size of the database and
the rows of its tables take longer to read where there are many files, so they are read once a minute.
"""

import fcntl
import os
import platform
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import psutil
from django.conf import settings
from prometheus_client import write_to_textfile
from prometheus_client.core import GaugeMetricFamily

from mirror.core import config, metrics
from mirror.core.db import statements
from mirror.core.db.availability import bounded_query, outage
from mirror.core.db.schema.backfill import TITLES
from mirror.core.metrics import node
from mirror.core.processes import exits
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.models import LoaderState
from mirror.node.health import block_nodes, checks, inventory, replicas
from mirror.node.health.checks import Health
from mirror.node.health.status import Status
from mirror.node.postgres.installation import server_paths

Labels = tuple[str, ...]
Reading = tuple[node.Gauge, Labels, float]

_REPORT_SECONDS, _SIZES_HOLD_SECONDS, _SIZES_PATIENCE_SECONDS = 5.0, 60.0, 20.0
_LOCK_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_HOUR = 3600
_GAUGES = [each for each in vars(node).values() if isinstance(each, node.Gauge)]

WEB_WORKER, CALL_PROCESS, DATABASE = "web worker", "call process", "database"

_SESSIONS = """
    select coalesce(state, 'none'), count(*) from pg_stat_activity
    where datname = current_database() and pid <> pg_backend_pid() group by 1"""
# Index: the primary key of balance_difference (consensus_timestamp, account_id, token_id).
_COMPARED = """
    select j.at, j.files, (select count(*) from balance_difference d where d.consensus_timestamp = j.at)
    from (
        select max(consensus_timestamp) as at, count(distinct consensus_timestamp) as files
        from reconciliation_job
    ) j"""
_MAX_SESSIONS = "select current_setting('max_connections')::int"


class Readings:
    def __init__(self, seconds: float = checks.PATIENCE_SECONDS) -> None:
        self._seconds = seconds
        self._sizes: list[Reading] = []
        self._lock: int | None = None

    def report(self) -> float:
        """Write the gauges to a file, unless another process of the node does; a repeated check."""
        if self._may_report():
            try:
                write_to_textfile(str(metrics.report_path()), self)
            except Exception:
                # A gauge has no value rather than an old one.
                metrics.report_path().unlink(missing_ok=True)
                raise
        return _REPORT_SECONDS

    def collect(self) -> Iterable[GaugeMetricFamily]:
        """Return the gauges, for prometheus-client."""
        values: dict[node.Gauge, dict[Labels, float]] = defaultdict(dict)
        for gauge, labels, value in self._read():
            values[gauge][labels] = value
        return [gauge.family(values[gauge]) for gauge in _GAUGES]

    def read_sizes(self) -> float:
        """Read the sizes for the reports that follow; a repeated check."""
        with suppress(bounded_query.QueryTimeout, *outage.ERRORS):
            if self._may_report():
                self._sizes = bounded_query.run_query(_sizes, _SIZES_PATIENCE_SECONDS)
                return _SIZES_HOLD_SECONDS
        return _REPORT_SECONDS

    def _may_report(self) -> bool:
        """Return whether this process has the lock. Forks do not inherit it; if it dies, another gets it."""
        with suppress(OSError):
            if self._lock is None:
                self._lock = os.open(metrics.folder() / "readings", _LOCK_FLAGS, 0o600)
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def _read(self) -> Iterator[Reading]:
        sessions: list[Reading] = []

        def of_database() -> Health:
            health = checks.check_database()
            sessions[:] = [(node.MAX_CONNECTIONS, (), statements.value(_MAX_SESSIONS))]
            rows = statements.rows(_SESSIONS)
            sessions.extend((node.CONNECTIONS, (state,), count) for state, count in rows)
            return health

        health = checks.check_health(self._seconds, of_database)
        yield from _health_values(health)
        if health.database:
            yield from sessions
            yield from self._sizes
        yield from _replicas_values()
        yield from _processes_values()
        yield from _disks_values()
        for kind, count in Counter(_kind(each.process) for each in exits.recent(_HOUR)).items():
            yield node.DEATHS, (kind,), count
        yield node.BUILD, (settings.VERSION, platform.python_version(), config.value("network")), 1


def _sizes() -> list[Reading]:
    estimates = inventory.estimates()
    rows: list[Reading] = [(node.DATABASE_ROWS, (table,), count) for table, count in estimates.items()]
    return [*rows, (node.DATABASE_BYTES, (), inventory.database_bytes()), *_compared()]


def _compared() -> Iterator[Reading]:
    at, files_compared, differing = statements.row(_COMPARED)
    yield node.COMPARED, (), files_compared
    if at is not None:
        yield node.COMPARED_TIME, (), at / NANOS_PER_SECOND
        yield node.DIFFERING, (), differing


def _health_values(health: Health) -> Iterator[Reading]:
    yield node.READY, (), health.ready
    yield node.DATABASE_UP, (), health.database
    if health.status is None:
        return
    if health.block is not None and health.lag_seconds is not None:
        yield node.LAG, (), health.lag_seconds
        yield node.BLOCK, (), health.block.number
        yield node.BLOCK_TIME, (), health.block.consensus_end / NANOS_PER_SECOND
    if loaded := health.status.loaded.intervals:
        yield node.FIRST_BLOCK, (), loaded[0].first_block
        yield node.GAPS, (), len(loaded) - 1
    yield from _loader_values(health.status)
    yield node.BACKFILLS, (), len(health.status.upgrade.remaining)
    for step in health.status.upgrade.remaining:
        if step.name in TITLES:
            yield node.BACKFILL, (step.name,), step.share


def _loader_values(status: Status) -> Iterator[Reading]:
    loader = status.loader
    yield node.STUCK, (), status.needs_operator
    yield node.FOLLOWING, (), bool(loader and loader["following"])
    for activity in LoaderState.Activity.values:
        yield node.LOADER, (activity,), bool(loader and loader["activity"] == activity)
    yield from _block_nodes_values(status)
    yield node.RATE, (), (status.transaction_rate or 0.0) if status.running else 0.0


def _block_nodes_values(status: Status) -> Iterator[Reading]:
    source, now = status.block_source, status.now / NANOS_PER_SECOND
    aside = {block_node["name"] for block_node, _ in block_nodes.set_aside(source, now)}
    for block_node in (source or {}).get("nodes", ()):
        labels = (block_node["name"],)
        yield node.BLOCK_NODE, labels, block_node["used"]
        yield node.BLOCK_NODE_ASIDE, labels, block_node["name"] in aside
        if block_node["latency_ms"] is not None:
            yield node.BLOCK_NODE_LATENCY, labels, block_node["latency_ms"] / 1000


def _replicas_values() -> Iterator[Reading]:
    for replica in replicas.read():
        labels = (replica.name,)
        yield node.REPLICA_UP, labels, replica.reason is None
        if replica.reason is None:
            yield node.REPLICA_LAG, labels, replica.lag_seconds
            yield node.REPLICA_LAG_BLOCKS, labels, replica.lag_blocks


def _processes_values() -> Iterator[Reading]:
    processes = node_processes(metrics.processes(), server_paths(settings.DATA_DIR).data)
    for role, count in Counter(process.role for process in processes).items():
        yield node.PROCESSES, (role,), count
    for process in processes:
        labels = process.role, str(process.pid)
        yield node.PROCESSOR, labels, process.processor_seconds
        yield node.MEMORY, labels, process.resident_bytes
        if process.open_files is not None:
            yield node.OPEN_FILES, labels, process.open_files


def _disks_values() -> Iterator[Reading]:
    folders: dict[str, Callable[[], Path]] = {"data": lambda: settings.DATA_DIR}
    if not config.value("db.url"):
        folders["database"] = lambda: server_paths(settings.DATA_DIR).data
    for name, folder in folders.items():
        with suppress(OSError):
            usage = shutil.disk_usage(folder())
            yield node.DISK_FREE, (name,), usage.free
            yield node.DISK, (name,), usage.total


def _kind(process: str) -> str:
    """Return what a process does, without its number: "web worker 1 (process 77)" is a web worker."""
    return process.partition(" (process ")[0].rstrip("0123456789 ")


# PROCESSES


class Process(NamedTuple):
    """A process; `open_files` is None for one of another user."""

    role: str
    pid: int
    processor_seconds: float
    resident_bytes: int
    open_files: int | None


def node_processes(counting: Iterable[metrics.Process], postgres_data: Path) -> list[Process]:
    """Return the processes of a node with what each takes.

    Those with metrics have a file that names their role. Children of a web worker run contract calls; the
    processes of the node's own PostgreSQL are found by its data folder.
    """
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
