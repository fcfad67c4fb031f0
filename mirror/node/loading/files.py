"""Loading given files: `manage.py ingest PATH...`."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import NamedTuple

from ledger.ingest.balances.start import Start
from ledger.ingest.loader_lock import loader_lock
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.prefetch.processes import Readers
from ledger.ingest.reporting import Reporting
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.source.stream_file import StreamFile
from mirror.core.db.availability import outage
from mirror.core.db.partitions.making import create_partitions_ahead
from mirror.node.postgres.server import Server
from mirror.upgrade import tables


class FileLoad(NamedTuple):
    """The files to load; `source` names them in status. An empty database begins with `balances`."""

    files: Sequence[StreamFile]
    source: str
    quorums: Quorums | None
    allow_gap: bool
    balances: Start | None = None
    readers: Readers | None = None


def import_files(
    load: FileLoad, show: Callable[[Progress], None], stopping: threading.Event, server: Server | None
) -> Progress:
    """Load the files that are not loaded yet, until `stopping` is set.

    While the database is away this waits, and starts `server` again if it has died. Errors: IngestError,
    StreamFileError.
    """
    done = Progress()
    by = f" (read by {len(load.readers.processes)} processes)" if load.readers else ""

    def attempt() -> None:
        nonlocal done
        create_partitions_ahead()
        with single_loader(), Reporting(source=load.source + by) as report:

            def show_and_report(progress: Progress) -> None:
                show(progress)
                report.loading(progress)

            pipeline = Pipeline(
                options=LoadOptions(allow_gap=load.allow_gap, balances=load.balances, require_archive=True),
                quorums=load.quorums,
                report=show_and_report,
                # The next attempt skips what an interrupted one has loaded, which counts once.
                progress=replace(done, skipped=-done.files),
                stopping=stopping,
                readers=load.readers,
            )
            try:
                done = pipeline.run(load.files)
            except BaseException:
                done = pipeline.committed
                raise

    outage.retry_during_outage(attempt, stopping, server.ensure_up if server else None)
    return done


@contextmanager
def single_loader() -> Iterator[None]:
    """Hold the lock that lets one command load into the database. Errors: OperatorError; IngestError."""
    with loader_lock():
        # A restore may have begun and been interrupted since this process checked.
        tables.check_restored()
        yield
