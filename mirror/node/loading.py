"""The right to load into the database of this node."""

from collections.abc import Iterator
from contextlib import contextmanager

from ledger.ingest.loader_lock import loader_lock
from mirror.node import tables


@contextmanager
def loading() -> Iterator[None]:
    """Be the one loader of a whole database. Errors: OperatorError; IngestError."""
    with loader_lock():
        # Since this process has looked, a restore may have begun and have been interrupted.
        tables.check_restored()
        yield
