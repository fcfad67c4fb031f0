"""Loaders that don't get through: killed at a random moment, or stopped inside a database transaction."""

import multiprocessing
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random

import psycopg
import pytest
from django.db import connection

from ledger.stream.compose import Block
from tests.ledger.ingest.load import load

# Each of them gets rows of every file, so the loader always comes to them.
_TABLES = ("crypto_transfer", "record_file", "transaction")


def load_and_kill(blocks: Sequence[Block], choose: Random) -> bool:
    """Load in a process of its own and kill it at a random moment; whether it was still loading."""
    # The process must not share this one's connection.
    connection.close()
    sys.stdout.flush()
    loader = multiprocessing.get_context("fork").Process(target=load, args=blocks)
    loader.start()
    time.sleep(choose.uniform(0.01, 0.05 + 0.01 * len(blocks)))
    loading = loader.exitcode is None
    loader.kill()
    loader.join()
    return loading


def load_and_abort(blocks: Sequence[Block], choose: Random) -> None:
    """Load while the database refuses some rows, in the middle of a transaction."""
    with _refused(choose.choice(_TABLES)), pytest.raises(psycopg.Error, match="no space left"):
        load(*blocks)


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
