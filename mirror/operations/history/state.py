"""What a backfill is doing, for `manage.py status`."""

from typing import Any, NamedTuple

from mirror.core.db import statements
from mirror.models import HISTORY_LOCK
from mirror.operations.history import plan as plans
from mirror.operations.history import size
from mirror.operations.history.plan import REPLACED, SCHEMA, Plan


class State(NamedTuple):
    """An unfinished backfill: whether a process runs it, its loaded `files`, and the last of them.

    `in_all` is about how many files there are, 0 if unknown. Without a `plan` its tables are in place, or
    discarded, and the replaced ones are still to be dropped.
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
    running, plan = statements.is_locked(HISTORY_LOCK), plans.stored()
    if plan is None:
        is_left = statements.value("select to_regnamespace(%s) is not null", [REPLACED])
        return State(None, running) if is_left else None
    last = plans.last_loaded(SCHEMA)
    return State(plan, running, size.loaded_files(), last.name if last else None, plans.noted_files())
