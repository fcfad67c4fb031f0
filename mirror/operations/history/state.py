"""What a backfill is doing, the files that it has to load, and the disk space that it needs."""

import shutil
from typing import Any, NamedTuple

from django.conf import settings

from mirror.core import config
from mirror.core.db import statements
from mirror.core.db.schema import table_copies
from mirror.core.values.human_readable import byte_size
from mirror.models import HISTORY_LOCK
from mirror.operations.backup import sessions
from mirror.operations.history import plan as plans
from mirror.operations.history.plan import REPLACED, SCHEMA, Plan
from mirror.operations.history.source import Folder, Source

# Of the tables and of their indexes, by file of those that are loaded.
_BYTES = """
    select coalesce(sum(pg_total_relation_size(oid)), 0)::bigint from pg_class
    where relnamespace = to_regnamespace(%s) and relkind = 'r'"""
_LOADED = """
    select coalesce(sum(files), 0)::bigint, coalesce(min(consensus_start), 0),
        coalesce(max(consensus_end), 0), coalesce(max(last_block), 0)
    from {}.loaded_range"""


class State(NamedTuple):
    """An unfinished backfill: whether a process runs it, its loaded `files`, and the last of them.

    `total_files` is an estimate, 0 if unknown. Without a `plan` its tables are in place, or discarded, and
    the replaced ones are still to be dropped.
    """

    plan: Plan | None
    running: bool
    files: int = 0
    last: str | None = None
    total_files: int = 0

    @property
    def sentence(self) -> str:
        if self.plan is None:
            return (
                f"ended; `manage.py backfill --discard` drops the tables that it has left (schema {REPLACED})"
            )
        of_all = f" of about {self.total_files:,}" if self.total_files else ""
        done = f"{self.files:,}{of_all} files up to {self.last}" if self.last else f"no file{of_all} yet"
        if self.running:
            return f"running, {self.plan}: {done}"
        return f"stopped, {self.plan}: {done}; the same command goes on, or --discard drops it"

    @property
    def json(self) -> dict[str, Any]:
        return {
            "running": self.running,
            "wanted": self.plan and str(self.plan),
            "files": self.files,
            "files_in_all": self.total_files or None,
            "last_file": self.last,
        }


def read() -> State | None:
    running, plan = statements.is_locked(HISTORY_LOCK), plans.stored()
    if plan is None:
        is_left = statements.value("select to_regnamespace(%s) is not null", [REPLACED])
        return State(None, running) if is_left else None
    last = plans.last_loaded(SCHEMA)
    return State(plan, running, loaded_files(), last.name if last else None, plans.file_count())


def expected_files(plan: Plan, source: Source) -> int:
    """Return the number of files to load in all; for a bucket an estimate from the loaded ones."""
    if isinstance(source, Folder):
        return sum(len(source.files_within(interval)) for interval in plans.intervals(plan))
    files, first, last, block = statements.row(_LOADED.format(table_copies.PUBLIC))
    if not plan.start:
        return int(block) + 1
    wanted = max(first - plan.start, 0) + max(last - first, 1)
    return int(files * wanted / max(last - first, 1))


def loaded_files() -> int:
    return int(statements.value(_LOADED.format(SCHEMA)))


def check_room() -> None:
    """Raise OperatorError if the disk has no space for another copy of what the node has loaded."""
    if not config.value("db.url"):
        needed = statements.value(_BYTES, [table_copies.PUBLIC]) - statements.value(_BYTES, [SCHEMA])
        sessions.check_room(settings.DATA_DIR, needed, "Loading once more what the node has")


def sentence(plan: Plan, source: Source) -> str:
    """Return a sentence: what is to be loaded, and the disk space that it needs and has."""
    files, done = expected_files(plan, source), loaded_files()
    loaded = statements.value(_LOADED.format(table_copies.PUBLIC))
    bytes_per_file = statements.value(_BYTES, [table_copies.PUBLIC]) / max(loaded, 1)
    free = (
        "" if config.value("db.url") else f" of {byte_size(shutil.disk_usage(settings.DATA_DIR).free)} free"
    )
    before = f", {done:,} of which are loaded" if done else ""
    return (
        f"Backfilling {plan}: {files:,} files{before}. If they are like those that the node has, that takes "
        f"{byte_size(round(bytes_per_file * max(files - done, 0)))}{free} on the disk."
    )
