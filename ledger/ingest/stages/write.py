"""Last stage: each batch in one database transaction, by a thread of its own."""

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor

from django.db import connection, transaction

from ledger.ingest import coverage, stored_network
from ledger.ingest.rows.registry import START
from ledger.ingest.stages.build import FileBatch, LoadedFile
from mirror.core import logs
from mirror.core.config import clock
from mirror.core.db import notifications
from mirror.core.metrics import ingest

log = logs.logger(__name__)


class Writer:
    """Writes one batch at a time, in order."""

    def __init__(self) -> None:
        _begin_run()
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="writer")
        self._writing: Future[None] | None = None

    def submit(self, batch: FileBatch) -> None:
        """Begin to write a batch; the one before has to be finished."""
        self._writing = self._thread.submit(_write, batch)

    def finish(self) -> bool:
        """Wait until the batch is committed, and return whether there was one. Errors: those of writing."""
        writing, self._writing = self._writing, None
        if writing:
            writing.result()
        return writing is not None

    def close(self) -> None:
        # Each thread has a connection of its own: this closes the writer's.
        self._thread.submit(lambda: connection.close()).result()
        self._thread.shutdown()


def _begin_run() -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        stored_network.remember()
        for work in START:
            work(cursor)


def _write(batch: FileBatch) -> None:
    began = time.monotonic()
    with (
        # COPY raises errors of the client, which no caller expects.
        connection.wrap_database_errors,
        ingest.stage("commit"),
        transaction.atomic(),
        connection.cursor() as cursor,
        ingest.stage("copy"),
    ):
        batch.rows.write(cursor)
        coverage.write(cursor, batch.ranges.values())
        if batch.archive:
            # Not before COPY: small files are archived in the time that this takes.
            batch.archive.wait()
            batch.archive.store_failures(cursor)
        notifications.notify(cursor)
    if batch.archive:
        batch.archive.update_metrics()
    ingest.PROBLEMS.inc(batch.rows.recoverable_errors)
    if batch.loaded:
        ms = round((time.monotonic() - began) * 1000)
        log.info("batch_written", files=len(batch.loaded), rows=len(batch.rows), ms=ms)
        _log_files(batch.loaded)


def _log_files(files: Sequence[LoadedFile]) -> None:
    now = clock.now_ns()
    for file in files:
        log.info(
            "file_loaded",
            file=file.name,
            block=file.block,
            items=file.items,
            rows=file.rows,
            ms=file.ms,
            lag_ms=(now - file.consensus_end) // 1_000_000,
        )
