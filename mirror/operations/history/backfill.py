"""The run of a backfill: load the plan and what is loaded, in order, and swap the tables in.

Wherever it is stopped or killed, the next run goes on after the last file that it has loaded.
"""

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field, replace

from django.db import OperationalError, transaction
from psycopg import errors

from ledger.ingest import stored_network
from ledger.ingest.balances.start import Start
from ledger.ingest.errors import IngestError
from ledger.ingest.loader_lock import loader_lock
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.prefetch.processes import Readers
from ledger.ingest.publishing import REDIS
from ledger.stream.errors import StreamFileError
from mirror.core import config, logs
from mirror.core.config.errors import OperatorError
from mirror.core.db import statements
from mirror.core.db.availability import outage
from mirror.core.db.partitions.making import create_partitions_ahead
from mirror.core.db.schema import table_copies
from mirror.core.processes.progress import FileDisplay
from mirror.models import HISTORY_LOCK, KEEPING_LOCK, LOADER_LOCK, REPLACING_LOCK, UPGRADE_LOCK
from mirror.node.loading import start_point
from mirror.node.postgres.server import Server
from mirror.node.start import tables
from mirror.operations.history import plan as plans
from mirror.operations.history import state
from mirror.operations.history.plan import REPLACED, SCHEMA, Interval, LastFile, Plan
from mirror.operations.history.source import Source

log = logs.logger(__name__)

Show = Callable[[Progress], None]
# Shows the progress through so many files.
Display = Callable[[int], AbstractContextManager[FileDisplay]]

# Less than deadlock_timeout: in a deadlock this process gives way, not a reader.
_LOCK_MILLISECONDS = 300
_RETRY_SECONDS = 0.5
# After so many tries the loader may go on for a while, and for longer each time.
_TRIES = 10
_FIRST_PAUSE, _MAX_PAUSE = 5.0, 300.0
# The session that has locked a table, or a partition of one, for the longest time.
_BLOCKER = """
    select a.pid, a.application_name, (extract(epoch from now() - a.xact_start) / 60)::int
    from pg_locks l
    join pg_stat_activity a on a.pid = l.pid
    join pg_class c on c.oid = l.relation
    join pg_class root on root.oid = coalesce(pg_partition_root(c.oid), c.oid)
    where l.database = (select oid from pg_database where datname = current_database()) and l.granted
        and l.pid <> pg_backend_pid() and root.relnamespace = to_regnamespace(%s) and root.relname = any(%s)
    order by a.xact_start limit 1"""
# A commit that a crash loses is loaded again, as the files of later ones are.
_PARAMETERS = ("synchronous_commit=off",)


@dataclass
class Run:
    """The parameters of a run, and its progress."""

    plan: Plan
    source: Source
    echo: logs.Echo
    display: Display
    stopping: threading.Event
    readers: Readers | None = None
    progress: Progress = field(default_factory=Progress)


def check() -> None:
    """Raise OperatorError if this database can't be backfilled."""
    if plans.last_loaded() is None:
        raise OperatorError("Nothing is loaded yet: `manage.py ingest` loads history from its beginning.")
    stored_network.check()
    plans.check_loaded_ranges()


def prepare(plan: Plan, source: Source) -> None:
    """Make the tables to load into, unless that is done. Errors: OperatorError."""
    with exclusive():
        plans.drop(REPLACED)
        loaded = plans.loaded()
        # The files that a loader has loaded since the source was opened are found only now.
        source.refresh()
        source.check(loaded)
        state.check_room()
        begun = plans.stored()
        if begun is None:
            plans.check_gaps(plan)
            plans.make(plan)
        elif begun != plan:
            raise OperatorError(
                f"The backfill {begun} has not ended: go on with it, or drop what it has loaded by "
                "`manage.py backfill --discard`."
            )
        plans.store_file_count(state.expected_files(plan, source))


def discard() -> None:
    """Drop what a backfill has loaded. Errors: OperatorError."""
    with exclusive():
        plans.discard()


def run(work: Run, server: Server | None = None) -> bool:
    """Load, and put the tables in place; return whether that is done, or False if stopped before.

    While the database is away this waits, and starts `server` again if it has died. Errors: OperatorError.
    """
    try:
        with (
            backfill_context(),
            work.display(state.expected_files(work.plan, work.source) - state.loaded_files()) as display,
        ):
            again = server.ensure_up if server else None
            return bool(outage.retry_during_outage(lambda: _run(work, display.show), work.stopping, again))
    except (StreamFileError, IngestError) as error:
        raise OperatorError(str(error)) from error


@contextmanager
def backfill_context() -> Iterator[None]:
    """Let this process use the tables of a backfill, and load all times, for the length of the block."""
    # Subscribers of topics wait for new messages alone.
    history = config.overridden({"importer.startDate": "", "importer.endDate": "", REDIS: None})
    with history, table_copies.search_path(SCHEMA, *_PARAMETERS):
        yield


@contextmanager
def readers(jobs: int) -> Iterator[Readers]:
    """Start processes that read files for a backfill; call it before the process has other threads."""
    with backfill_context():
        processes = Readers(jobs)
    with processes:
        yield processes


def _run(work: Run, show: Show) -> bool:
    with exclusive():
        tables.check_restored()
        if plans.stored() is None:
            # The tables are swapped in; only the confirmation was lost.
            return True
        _check_shapes()
        create_partitions_ahead()
        while not _has_caught_up():
            if not _load(work, show) and not work.stopping.is_set() and not _has_caught_up():
                raise _ends_early()
            if work.stopping.is_set():
                return False
        table_copies.complete_indexes(plans.tables(), SCHEMA)
        # Statistics come before the first reader.
        for table in plans.tables():
            statements.execute(f'analyze {SCHEMA}."{table}"')
        return _finish(work, show)


def _finish(work: Run, show: Show) -> bool:
    """Load what has come since while no loader works, and swap the tables in."""
    work.echo("Putting the history in place; the loader waits for that.")
    # The loader comes last: it waits only for the few files that it has loaded since, not for a backup.
    with statements.locked(KEEPING_LOCK, UPGRADE_LOCK, stopping=work.stopping) as are_held:
        is_said, pause = False, _FIRST_PAUSE
        while are_held and not work.stopping.is_set():
            with statements.locked(REPLACING_LOCK, LOADER_LOCK, stopping=work.stopping) as has_yielded:
                if has_yielded and _swap_in(work, show):
                    break
            if not is_said and not work.stopping.is_set():
                work.echo(f"Waiting for {_blocker()} to let go of a table; the loader goes on meanwhile.")
                is_said = True
            work.stopping.wait(pause)
            pause = min(2 * pause, _MAX_PAUSE)
        else:
            return False
    plans.drop(REPLACED)
    return True


def _swap_in(work: Run, show: Show) -> bool:
    while not _has_caught_up():
        loaded = _load(work, show)
        if work.stopping.is_set():
            return False
        if not loaded:
            raise _ends_early()
    # An upgrade may have run since, and can't run now.
    _check_shapes()
    plans.check_views()
    plans.check_complete()
    table_copies.complete_indexes(plans.tables(), SCHEMA)
    return _swap(work.stopping)


def _load(work: Run, show: Show) -> int:
    """Load what is left, and return the number of files."""
    before = work.progress.files
    work.source.refresh()
    intervals = plans.intervals(work.plan)
    intervals[0], balances = _start(work, intervals[0])
    start = start_point.date_text(intervals[0].start) if intervals[0].start else ""
    with config.overridden({"importer.startDate": start}):
        for interval in intervals:
            _load_interval(work, show, interval, balances)
            balances = None
    return work.progress.files - before


def _start(work: Run, earliest: Interval) -> tuple[Interval, Start | None]:
    """Return where loading begins, and the balances before it if that is in the middle of the stream."""
    if not earliest.start:
        return earliest, None
    if begun := start_point.resting_on_balances():
        return replace(earliest, start=begun.consensus_start, first=begun.consensus_start - 1), None
    if plans.last_loaded(SCHEMA):
        return earliest, None
    balances = start_point.from_bucket(work.plan.source, work.source.book, earliest.start, work.echo)
    if balances is None:
        return earliest, None
    start = balances.last + 1
    return replace(earliest, start=start, first=work.source.file_start(start)), balances


def _load_interval(work: Run, show: Show, interval: Interval, balances: Start | None) -> None:
    if not work.stopping.is_set():
        pipeline = Pipeline(
            options=LoadOptions(
                start=interval.first, balances=balances, lock=HISTORY_LOCK, require_archive=True
            ),
            quorums=work.source.quorums,
            report=show,
            progress=replace(work.progress),
            stopping=work.stopping,
            readers=work.readers,
        )
        try:
            with closing(work.source.files(interval, work.stopping)) as files:
                pipeline.run(files)
        finally:
            work.progress = pipeline.committed


def _check_shapes() -> None:
    if changed := table_copies.changed_tables(plans.tables(), SCHEMA):
        raise OperatorError(
            f"Tables have been changed since the backfill began ({', '.join(changed)}), as an upgrade does: "
            "drop what it has loaded by `manage.py backfill --discard`, and begin again."
        )


def _has_caught_up() -> bool:
    last = plans.last_loaded()
    return last is None or plans.has_reached(last)


def _ends_early() -> OperatorError:
    head, last = plans.last_loaded(), plans.last_loaded(SCHEMA)
    return OperatorError(
        f"The source ends with {_name(last)}, and the node has loaded up to {_name(head)}: the history takes "
        "its place once all that the node has loaded is in it. Run this again when the source has these "
        "files, too; it goes on where it was."
    )


def _name(last: LastFile | None) -> str:
    return last.name if last else "no file"


def _swap(stopping: threading.Event) -> bool:
    """Swap the tables in; return whether that is done, or False if sessions read them for long."""
    for _ in range(_TRIES):
        try:
            with transaction.atomic():
                statements.execute(
                    f"set local lock_timeout = {_LOCK_MILLISECONDS}; set local synchronous_commit = on"
                )
                table_copies.swap_tables(plans.tables(), SCHEMA, REPLACED)
                statements.execute(f"drop schema {SCHEMA} cascade")
            log.info("history_in_place")
            return True
        except OperationalError as error:
            if not isinstance(error.__cause__, errors.LockNotAvailable | errors.DeadlockDetected):
                raise
        if stopping.wait(_RETRY_SECONDS):
            break
    return False


def _blocker() -> str:
    """Return in words which session has locked one of the tables for the longest time."""
    row = statements.row(_BLOCKER, [table_copies.PUBLIC, plans.tables()])
    if row is None:
        return "another session"
    number, name, minutes = row
    return f"the session {number}{f' of {name}' if name else ''}, for {minutes} min by now,"


# LOCKS


@contextmanager
def exclusive() -> Iterator[None]:
    """Hold the lock of backfills. Errors: OperatorError."""
    try:
        with loader_lock(HISTORY_LOCK):
            yield
    except IngestError as error:
        if error.file != "database":
            raise
        raise OperatorError(
            "Another backfill works in this database: wait for it to end, or stop it."
        ) from error
