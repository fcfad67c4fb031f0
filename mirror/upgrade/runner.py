"""The runner of backfills: one at a time, one process at a time, with a rest after each range of work."""

import threading
import time
from collections.abc import Callable

import psycopg
from django.db import OperationalError, connection, transaction
from psycopg import errors

from contracts.backfills import amounts, blooms, indexes
from contracts.backfills import logs as call_logs
from ledger.backfills import block_times, loaded_ranges, rewards
from mirror.core import config, logs
from mirror.core.db import statements
from mirror.core.db.availability import outage
from mirror.core.db.partitions import partitioning
from mirror.core.db.partitions.catalogue import partitionable_tables
from mirror.core.db.partitions.partitioning import partition_table
from mirror.core.db.schema.backfill import (
    INDEX_BUILDS,
    TITLES,
    Backfill,
    IndexBuild,
    KeyRange,
    MonthlyPartitioning,
)
from mirror.models import UPGRADE_LOCK
from mirror.upgrade import remaining, tables
from mirror.upgrade.remaining import Remaining
from tokens.backfills import NFT_TRANSFERS

log = logs.logger(__name__)

Show = Callable[[Remaining], None]

# The size of a range is chosen so that it takes this long; then the database is left to others for as long.
_RANGE_SECONDS = 0.1
_MIN_ROWS, _FIRST_ROWS, _MAX_ROWS = 20, 200, 5000
# Less than deadlock_timeout: in a deadlock this process gives way, not a loader.
_LOCK_MILLISECONDS = 500
_RETRY_SECONDS = 1.0
_SECONDS_BETWEEN_CHECKS = 0.2

# Errors because others change the same rows: the range is tried again.
_BUSY = (errors.LockNotAvailable, errors.DeadlockDetected, errors.SerializationFailure)

_OF_ROWS = (
    amounts.SPENT_BY_CONTRACTS, block_times.TIMES, blooms.BLOOMS, indexes.CHILDREN, indexes.POSITIONS,
    loaded_ranges.RANGES, call_logs.DUPLICATES, NFT_TRANSFERS,
    call_logs.HASHES, call_logs.SYNTHETIC, rewards.DELETED_NODES, rewards.LONG_STAKES, amounts.WEIBARS,
    MonthlyPartitioning(name="monthly_partitions"),
)  # fmt: skip
_BY_NAME = INDEX_BUILDS | {backfill.name: backfill for backfill in _OF_ROWS}
#: All backfills by name, in the order in which they run.
BACKFILLS: dict[str, Backfill | IndexBuild | MonthlyPartitioning] = {name: _BY_NAME[name] for name in TITLES}


def run(show: Show, stopping: threading.Event, start_again: Callable[[], object] | None = None) -> bool:
    """Run the backfills that are left, until all are done or `stopping` is set; return whether all are done.

    While another process runs them, or while the database is away, this one waits. `start_again` starts a
    server that has died.
    """
    return bool(outage.retry_during_outage(lambda: _run(show, stopping), stopping, start_again))


def _run(show: Show, stopping: threading.Event) -> bool:
    with statements.locked(UPGRADE_LOCK, stopping=stopping) as is_alone:
        if not is_alone:
            return False
        # A restore may have begun and been interrupted since this process checked.
        tables.check_restored()
        return all(_run_backfill(name, show, stopping) for name in remaining.names())


def _run_backfill(name: str, show: Show, stopping: threading.Event) -> bool:
    """Run a backfill; return False if `stopping` interrupted it."""
    backfill = BACKFILLS[name]
    if isinstance(backfill, Backfill):
        is_done = _change_rows(backfill, show, stopping)
    else:
        began = time.monotonic()
        statements.execute("update backfill set started = now() where name = %s and started is null", [name])
        if isinstance(backfill, IndexBuild):
            show(remaining.get(name))
            is_done = _interruptible(lambda: _build(backfill), stopping)
        else:
            is_done = _partition_tables(name, show, stopping)
        if is_done:
            statements.execute(
                "update backfill set finished = now(), seconds = %s where name = %s",
                [time.monotonic() - began, name],
            )
    if is_done:
        state = remaining.get(name)
        show(state)
        log.info("backfilled", name=name, rows=state.rows)
    return is_done


# ROWS


def _change_rows(backfill: Backfill, show: Show, stopping: threading.Event) -> bool:
    rows = _FIRST_ROWS
    with transaction.atomic():
        _begin(backfill)
    while not (state := remaining.get(backfill.name)).finished:
        show(state)
        if stopping.is_set():
            return False
        rows = _next_range(backfill, rows, stopping)
    return True


def _begin(backfill: Backfill) -> None:
    """Store the ends of the backfill, unless it has begun before; finish one that is not needed."""
    position, newest = statements.row(
        "select position, newest from backfill where name = %s for update", [backfill.name]
    )
    if position is not None:
        return
    if backfill.newest is not None:
        newest = backfill.newest()
    oldest = statements.value(f"select min({backfill.first or backfill.key}) - 1 from {backfill.table}")
    if oldest is not None:
        oldest = max(oldest, backfill.oldest() or oldest)
    is_done = newest is None or oldest is None or newest <= oldest or not backfill.is_needed()
    statements.execute(
        "update backfill set newest = %s, position = %s, oldest = %s, started = now(), "
        "finished = case when %s then now() end where name = %s",
        [newest or 0, newest or 0, oldest or 0, is_done, backfill.name],
    )


def _next_range(backfill: Backfill, rows: int, stopping: threading.Event) -> int:
    """Change a range of about this many rows, and rest; return the number for the next range."""
    began = time.monotonic()
    try:
        with transaction.atomic():
            # A crash loses the changes together with the position, so both still agree.
            statements.execute(
                f"set local synchronous_commit = off; set local lock_timeout = {_LOCK_MILLISECONDS}; "
                "set local jit = off"
            )
            _change_range(backfill, rows, began)
    except OperationalError as error:
        if not isinstance(error.__cause__, _BUSY):
            raise
        stopping.wait(_RETRY_SECONDS)
        return max(rows // 2, _MIN_ROWS)
    took = time.monotonic() - began
    stopping.wait(took)
    factor = min(max(_RANGE_SECONDS / took, 0.5), 2)
    return min(max(round(rows * factor), _MIN_ROWS), _MAX_ROWS)


def _change_range(backfill: Backfill, rows: int, began: float) -> None:
    position, oldest = statements.row(
        "select position, oldest from backfill where name = %s for update", [backfill.name]
    )
    last = statements.value(
        f"select {backfill.key} from {backfill.table} where {backfill.key} <= %s and {backfill.key} > %s "
        f"order by {backfill.key} desc offset %s limit 1",
        [position, oldest, rows],
    )
    # Rows of the same key stay together, however many they are.
    after = oldest if last is None else min(last, position - 1)
    changed = backfill.change(KeyRange(after, position))
    statements.execute(
        "update backfill set position = %s, rows = rows + %s, seconds = seconds + %s, "
        "finished = case when %s then now() end where name = %s",
        [after, changed, 2 * (time.monotonic() - began), after == oldest, backfill.name],
    )


# INDEXES AND PARTITIONS


def _build(build: IndexBuild) -> None:
    """Build an index, unless it exists; drop the one it replaces."""
    is_valid = statements.value(
        "select indisvalid from pg_index where indexrelid = to_regclass(%s)", [build.index]
    )
    if not is_valid and partitioning.has_partitions(build.statement):
        partitioning.build_index(build.statement)
    elif not is_valid:
        # An interrupted attempt may have left it.
        statements.execute(f"drop index concurrently if exists {build.index}")
        statements.execute(build.statement)
    if build.replaced:
        statements.execute(f"drop index concurrently if exists {build.replaced}")


def _partition_tables(name: str, show: Show, stopping: threading.Event) -> bool:
    """Partition tables by month if that is configured; return False if `stopping` interrupted it."""
    tables = partitionable_tables() if config.value("db.partitions") else ()
    for done, table in enumerate(tables):
        statements.execute(
            "update backfill set newest = %s, oldest = 0, position = %s where name = %s",
            [len(tables), len(tables) - done, name],
        )
        show(remaining.get(name))
        if stopping.is_set() or not partition_table(
            table, run_step=lambda work: _interruptible(work, stopping)
        ):
            return False
    return True


def _interruptible(work: Callable[[], None], stopping: threading.Event) -> bool:
    """Work, and cancel the running statement when `stopping` is set; return False if it was."""
    session: psycopg.Connection[object] = connection.connection
    finished = threading.Event()

    def watch() -> None:
        while not finished.wait(_SECONDS_BETWEEN_CHECKS):
            if stopping.is_set():
                session.cancel()

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        work()
    except OperationalError as error:
        if not (stopping.is_set() and isinstance(error.__cause__, errors.QueryCanceled)):
            raise
    finally:
        finished.set()
        watcher.join()
    return not stopping.is_set()
