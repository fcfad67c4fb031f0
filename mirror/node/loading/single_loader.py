"""The lock that lets one command load into the database of this node."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

from ledger.ingest.errors import TableSwapRequested
from ledger.ingest.loader_lock import loader_lock
from mirror.core import logs
from mirror.node.start import tables

log = logs.logger(__name__)

Result = TypeVar("Result")


@contextmanager
def single_loader(stopping: threading.Event) -> Iterator[None]:
    """Hold the loader's lock for the block. Errors: OperatorError; IngestError; TableSwapRequested."""
    with loader_lock(stopping=stopping):
        # A restore may have begun and been interrupted since this process checked.
        tables.check_restored()
        yield


def retry_after_swap(load: Callable[[], Result], stopping: threading.Event) -> Result | None:
    """Load, and again each time a backfill has swapped in its tables; None if stopped during a swap."""
    while True:
        try:
            return load()
        except TableSwapRequested:
            log.info("loader_yielded")
        if stopping.is_set():
            return None
