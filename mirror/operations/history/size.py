"""How many files a backfill has to load, and the room that it needs on the disk."""

import shutil

from django.conf import settings
from django.db import connection

from mirror.core import config
from mirror.core.db.schema import table_copies
from mirror.core.values.human_readable import byte_size
from mirror.operations.backup import sessions
from mirror.operations.history import plan as plans
from mirror.operations.history.plan import SCHEMA, Plan
from mirror.operations.history.source import Folder, Source

# Of the tables and of their indexes, by file of those that are loaded.
_BYTES = """
    select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
    where relnamespace = to_regnamespace(%s) and relkind = 'r'"""
_LOADED = """
    select coalesce(sum(files), 0)::bigint, coalesce(min(consensus_start), 0),
        coalesce(max(consensus_end), 0), coalesce(max(last_block), 0)
    from {}.loaded_range"""


def expected_files(plan: Plan, source: Source) -> int:
    """Return how many files there are to load in all; for a bucket judging by those that are loaded."""
    if isinstance(source, Folder):
        return sum(len(source.of(interval)) for interval in plans.intervals(plan))
    with connection.cursor() as cursor:
        cursor.execute(_LOADED.format(table_copies.PUBLIC))
        files, first, last, block = cursor.fetchone()
    if not plan.start:
        return int(block) + 1
    wanted = max(first - plan.start, 0) + max(last - first, 1)
    return int(files * wanted / max(last - first, 1))


def loaded_files() -> int:
    """Return how many files the backfill has loaded."""
    with connection.cursor() as cursor:
        cursor.execute(_LOADED.format(SCHEMA))
        return int(cursor.fetchone()[0])


def check_room() -> None:
    """Raise OperatorError if the disk has no room for what the node has, which is loaded once more."""
    if not config.value("db.url"):
        with connection.cursor() as cursor:
            cursor.execute(_BYTES, [table_copies.PUBLIC])
            needed = cursor.fetchone()[0]
            cursor.execute(_BYTES, [SCHEMA])
            needed -= cursor.fetchone()[0]
        sessions.check_room(settings.DATA_DIR, needed, "Loading once more what the node has")


def sentence(plan: Plan, source: Source) -> str:
    """Return in words what is to be loaded, and how much room it needs and has."""
    files, done = expected_files(plan, source), loaded_files()
    with connection.cursor() as cursor:
        cursor.execute(_LOADED.format(table_copies.PUBLIC))
        loaded = cursor.fetchone()[0]
        cursor.execute(_BYTES, [table_copies.PUBLIC])
        each = cursor.fetchone()[0] / max(loaded, 1)
    free = (
        "" if config.value("db.url") else f" of {byte_size(shutil.disk_usage(settings.DATA_DIR).free)} free"
    )
    before = f", {done:,} of which are loaded" if done else ""
    return (
        f"Backfilling {plan}: {files:,} files{before}. If they are like those that the node has, that takes "
        f"{byte_size(round(each * max(files - done, 0)))}{free} on the disk."
    )
