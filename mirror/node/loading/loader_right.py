"""The right to load into the database of this node."""

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
def loading(stopping: threading.Event) -> Iterator[None]:
    """Be the one loader of a whole database. Errors: OperatorError; IngestError; MakingWay."""
    with loader_lock(stopping=stopping):
        # Since this process has looked, a restore may have begun and have been interrupted.
        tables.check_restored()
        yield


def making_way(load: Callable[[], Result], stopping: threading.Event) -> Result | None:
    """Load; again whenever a backfill has put its tables in the place of those that were loaded into.

    None if stopped while this made way.
    """
    while True:
        try:
            return load()
        except TableSwapRequested:
            log.info("loader_yielded")
        if stopping.is_set():
            return None
