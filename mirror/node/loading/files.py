"""Loading given files: `manage.py ingest PATH...`."""

import threading
from collections.abc import Callable, Sequence
from dataclasses import replace

from ledger.ingest.balances.start import Start
from ledger.ingest.pipeline import LoadOptions, Pipeline, Progress
from ledger.ingest.prefetch.processes import Readers
from ledger.ingest.reporting import Reporting
from ledger.ingest.trust import Trust
from ledger.stream.source.stream_file import StreamFile
from mirror.core.db.availability import outage
from mirror.core.db.partitions.making import create_partitions_ahead
from mirror.node.loading.loader_right import loading, making_way
from mirror.node.postgres.server import Server


def import_files(
    files: Sequence[StreamFile],
    source: str,
    trust: Trust | None,
    show: Callable[[Progress], None],
    stopping: threading.Event,
    server: Server | None,
    *,
    allow_gap: bool,
    balances: Start | None = None,
    readers: Readers | None = None,
) -> Progress:
    """Load the files that are not loaded yet, until `stopping` is set; status names them by `source`.

    If nothing is stored, loading begins with `balances`.

    While the database is away this waits, and starts `server` again if it has died. Errors: IngestError,
    StreamFileError.
    """
    done = Progress()
    if readers:
        source = f"{source} (read by {len(readers.processes)} processes)"

    def load() -> None:
        nonlocal done
        create_partitions_ahead()
        with loading(stopping), Reporting(source=source) as report:

            def show_and_report(progress: Progress) -> None:
                show(progress)
                report.loading(progress)

            pipeline = Pipeline(
                options=LoadOptions(
                    allow_gap=allow_gap, balances=balances, yield_to_backfill=True, require_archive=True
                ),
                trust=trust,
                report=show_and_report,
                # The next attempt skips what an interrupted one has loaded, which counts once.
                progress=replace(done, skipped=-done.files),
                stopping=stopping,
                readers=readers,
            )
            try:
                done = pipeline.run(files)
            except BaseException:
                done = pipeline.committed
                raise

    outage.outlast(lambda: making_way(load, stopping), stopping, server.start_again if server else None)
    return done
