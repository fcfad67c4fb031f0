"""Metrics of loading a stream, and the stages of which its time consists."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from prometheus_client import Counter

FILES = Counter("mirror_ingest_files_total", "Stream files that were loaded and committed.")
TRANSACTIONS = Counter("mirror_ingest_transactions_total", "Transactions that were loaded and committed.")
ROWS = Counter("mirror_ingest_rows_total", "Rows that were written, by table.", ("table",))
SECONDS = Counter("mirror_ingest_seconds_total", "Time that loading took, by stage: download, verify, read, "
                  "rows, copy, commit. Stages run side by side.", ("stage",))  # fmt: skip
REFUSED = Counter("mirror_ingest_refused_total", "Attempts to load a file that failed, by what was wrong: "
                  "signatures, chain, source (it could not be listed) or content.", ("reason",))  # fmt: skip
BLOCK_NODE_FAILURES = Counter("mirror_ingest_block_node_failures_total", "Streams of a block node that "
                              "failed, or brought a block that was refused.", ("node",))  # fmt: skip
PROBLEMS = Counter(
    "mirror_ingest_problems_total", "Transactions with a problem that did not stop the stream."
)
ARCHIVED = Counter("mirror_ingest_archived_files_total", "Verified stream files that were archived, when "
                   "they were loaded or later.")  # fmt: skip
ARCHIVE_FAILURES = Counter("mirror_ingest_archive_failures_total", "Verified stream files that were loaded, "
                           "and could not be archived then.")  # fmt: skip

SIGNATURES, CHAIN, SOURCE, CONTENT = "signatures", "chain", "source", "content"


class _Stages(threading.local):
    """The seconds of stages within the one at hand."""

    within = 0.0


_stages = _Stages()


@contextmanager
def stage(name: str) -> Iterator[None]:
    """Count the time of a block as that of a stage, but for stages within it."""
    before, began = _stages.within, time.perf_counter()
    _stages.within = 0.0
    try:
        yield
    finally:
        seconds = time.perf_counter() - began
        SECONDS.labels(name).inc(seconds - _stages.within)
        _stages.within = before + seconds
