"""Loading given files: `manage.py ingest PATH...`."""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace

from ledger.ingest.loader_lock import loader_lock
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.reporting import Reporting
from ledger.stream.source.stream_file import StreamFile
from mirror.core.db.availability import outage
from mirror.core.db.partitions.making import create_partitions_ahead
from mirror.node.postgres.server import Server
from mirror.upgrade import tables


def import_files(
    files: Sequence[StreamFile],
    options: LoadOptions,
    show: Callable[[Progress], None],
    stopping: threading.Event,
    server: Server | None,
    *,
    source: str,
) -> Progress:
    """Load the files that are not loaded yet, until `stopping` is set; `source` names them in status.

    While the database is away this waits, and starts `server` again if it has died. Errors: IngestError,
    StreamFileError.
    """
    done = Progress()
    by = f" (read by {len(options.readers.processes)} processes)" if options.readers else ""

    def attempt() -> None:
        nonlocal done
        create_partitions_ahead()
        with single_loader(), Reporting(source=source + by) as report:

            def show_and_report(progress: Progress) -> None:
                show(progress)
                report.loading(progress)

            pipeline = Pipeline(
                options,
                report=show_and_report,
                # The next attempt skips what an interrupted one has loaded, which counts once.
                progress=replace(done, skipped=-done.files),
                stopping=stopping,
            )
            try:
                done = pipeline.run(files)
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
