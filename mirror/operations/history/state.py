"""What a backfill is doing, for `manage.py status`."""

from typing import Any, NamedTuple

from django.db import connection

from mirror.models import HISTORY_LOCK
from mirror.operations.history import plan as plans
from mirror.operations.history import size
from mirror.operations.history.plan import REPLACED, SCHEMA, Plan

_RUNNING = """
    select exists (
        select from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and d.datname = current_database() and l.granted
            and l.classid = %s and l.objid = %s and l.objsubid = 1),
        to_regnamespace(%s) is not null"""


class State(NamedTuple):
    """A backfill that has not ended: whether a process works on it, the files it has, the last of them, and
    about how many there are `in_all` (0: nobody knows).

    Without a `plan` its tables are in place, or discarded, and the others are left to be dropped.
    """

    plan: Plan | None
    running: bool
    files: int = 0
    last: str | None = None
    in_all: int = 0

    @property
    def sentence(self) -> str:
        if self.plan is None:
            return (
                f"ended; `manage.py backfill --discard` drops the tables that it has left (schema {REPLACED})"
            )
        of_all = f" of about {self.in_all:,}" if self.in_all else ""
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
            "files_in_all": self.in_all or None,
            "last_file": self.last,
        }


def read() -> State | None:
    """Return the state of a backfill, None if there is none."""
    with connection.cursor() as cursor:
        cursor.execute(_RUNNING, [HISTORY_LOCK >> 32, HISTORY_LOCK & 0xFFFFFFFF, REPLACED])
        running, replaced = cursor.fetchone()
    plan = plans.stored()
    if plan is None:
        return State(None, running) if replaced else None
    last = plans.last_loaded(SCHEMA)
    return State(plan, running, size.loaded_files(), last.name if last else None, plans.noted_files())
