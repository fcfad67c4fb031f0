"""The lock that lets one command load into the database of this node."""

from collections.abc import Iterator
from contextlib import contextmanager

from ledger.ingest.loader_lock import loader_lock
from mirror.node.start import tables


@contextmanager
def single_loader() -> Iterator[None]:
    """Hold the loader's lock for the block. Errors: OperatorError; IngestError."""
    with loader_lock():
        # A restore may have begun and been interrupted since this process checked.
        tables.check_restored()
        yield
