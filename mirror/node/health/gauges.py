"""The gauges of the node, which one of its web workers reads every five seconds: no scrape waits for them.

Those of the database are read with the node's health, which has a time limit. The size of the database and
the rows of its tables take longer to read where there are many files, so they are read once a minute.
"""

import fcntl
import os
import platform
import shutil
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from django.conf import settings

from mirror.core import config
from mirror.core.db import statements
from mirror.core.db.availability import outage
from mirror.core.db.reading import bounded_query
from mirror.core.db.schema.backfill import TITLES
from mirror.core.metrics import database, files, node
from mirror.core.metrics.types import Gauge, Labels
from mirror.core.processes import exits
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.models import LoaderState
from mirror.node.health import block_nodes, checks, inventory, replicas
from mirror.node.health.checks import Health
from mirror.node.health.processes import node_processes
from mirror.node.health.status import Status
from mirror.node.postgres.installation import server_paths

Reading = tuple[Gauge, Labels, float]

_REPORT_SECONDS, _SIZES_HOLD_SECONDS, _SIZES_PATIENCE_SECONDS = 5.0, 60.0, 20.0
_LOCK_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC
_HOUR = 3600
_GAUGES = [each for module in (database, node) for each in vars(module).values() if isinstance(each, Gauge)]

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
        """Set the gauges, unless another process of the node does; a repeated check."""
        if self._may_report():
            values: dict[Gauge, dict[Labels, float]] = defaultdict(dict)
            try:
                for gauge, labels, value in self._read():
                    values[gauge][labels] = value
            finally:
                # After an error, a gauge has no value rather than an old one.
                for gauge in _GAUGES:
                    gauge.set(values[gauge])
        return _REPORT_SECONDS

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
                self._lock = os.open(Path(settings.DATA_DIR, "metrics", "readings"), _LOCK_FLAGS, 0o600)
            fcntl.lockf(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        return False

    def _read(self) -> Iterator[Reading]:
        sessions: list[Reading] = []

        def of_database() -> Health:
            health = checks.check_database()
            sessions[:] = [(database.MAX_CONNECTIONS, (), statements.value(_MAX_SESSIONS))]
            rows = statements.rows(_SESSIONS)
            sessions.extend((database.CONNECTIONS, (state,), count) for state, count in rows)
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
    rows: list[Reading] = [(database.ROWS, (table,), count) for table, count in inventory.estimates().items()]
    return [*rows, (database.BYTES, (), inventory.database_bytes()), *_compared()]


def _compared() -> Iterator[Reading]:
    at, files_compared, differing = statements.row(_COMPARED)
    yield node.COMPARED, (), files_compared
    if at is not None:
        yield node.COMPARED_TIME, (), at / NANOS_PER_SECOND
        yield node.DIFFERING, (), differing


def _health_values(health: Health) -> Iterator[Reading]:
    yield node.READY, (), health.ready
    yield database.UP, (), health.database
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
        yield database.REPLICA_UP, labels, replica.reason is None
        if replica.reason is None:
            yield database.REPLICA_LAG, labels, replica.lag_seconds
            yield database.REPLICA_LAG_BLOCKS, labels, replica.lag_blocks


def _processes_values() -> Iterator[Reading]:
    processes = node_processes(files.read().processes, server_paths(settings.DATA_DIR).data)
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
