"""The bucket of a simulated network, and loaders of some of its files, which may be interrupted."""

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

import pytest
from django.db import DatabaseError, connection

from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.source.local import find_record_files
from mirror.demo.actions.system_files import address_book
from mirror.demo.streams.record_files import Block
from tests import forking

# Each of them gets rows of every file, so the loader always comes to them.
_TABLES = ("crypto_transfer", "record_file", "transaction")


class Bucket:
    """A bucket folder, from which `count` blocks from number `first` on can be loaded."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def publish(self, blocks: Iterable[Block]) -> None:
        for block in blocks:
            block.write(self._folder)

    def load(self, first: int, count: int = 1) -> None:
        files = list(find_record_files([self._folder]))[first : first + count]
        done = Pipeline(LoadOptions(quorums=Quorums(address_book()))).run(files)
        assert done.verified == done.files == len(files)

    def load_and_kill(self, first: int, count: int, choose: Random) -> bool:
        """Load in another process and kill it at a random time. Return True if it was still loading."""
        loader = forking.begun(self.load, first, count)
        time.sleep(choose.uniform(0.01, 0.06 + 0.02 * count))
        return forking.kill(loader)

    def load_and_abort(self, first: int, count: int, choose: Random) -> None:
        """Load while the database refuses some rows, in the middle of a transaction."""
        with _refused(choose.choice(_TABLES)), pytest.raises(DatabaseError, match="no space left"):
            self.load(first, count)


@contextmanager
def _refused(table: str) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(
            "create or replace function refuse() returns trigger language plpgsql as "
            "$$ begin raise exception 'no space left on device'; end $$"
        )
        cursor.execute(f"create trigger refuse after insert on {table} execute function refuse()")
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"drop trigger refuse on {table}; drop function refuse")
