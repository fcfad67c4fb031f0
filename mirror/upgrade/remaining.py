"""The backfills that are left to run, and the progress of the running one. Source: the table backfill."""

from collections.abc import Sequence
from dataclasses import dataclass

from mirror.core.db import statements
from mirror.core.db.schema.backfill import TITLES
from mirror.core.logs import Echo
from mirror.core.values.human_readable import duration
from mirror.models import UPGRADE_LOCK

COMMAND = "`manage.py upgrade`"
# The time left is unknown before this share is done.
_MIN_SHARE = 0.02

_COLUMNS = "name, newest, oldest, position, rows, seconds, started is not null, finished is not null"


@dataclass(frozen=True)
class Remaining:
    """A backfill: its ends and position, the number of rows it has changed, and the seconds that it took."""

    name: str
    newest: int | None
    oldest: int | None
    position: int | None
    rows: int
    seconds: float
    started: bool
    finished: bool

    @property
    def share(self) -> float:
        if self.finished:
            return 1.0
        if self.newest is None or self.oldest is None or self.position is None or self.newest <= self.oldest:
            return 0.0
        return (self.newest - self.position) / (self.newest - self.oldest)

    @property
    def seconds_left(self) -> float | None:
        share = self.share
        return self.seconds / share * (1 - share) if share >= _MIN_SHARE else None

    @property
    def time_left(self) -> str:
        """A clause about the time left, if that is known."""
        left = self.seconds_left
        return f", about {duration(round(left))} left" if left is not None and not self.finished else ""

    @property
    def text(self) -> str:
        return f"{TITLES[self.name]}, {self.share:.0%}{self.time_left}".replace("%", " %")


@dataclass(frozen=True)
class Upgrade:
    """All backfills that are left, in their order, and whether a process runs them."""

    remaining: Sequence[Remaining]
    running: bool

    @property
    def sentence(self) -> str:
        """The running backfill, or the command that would run it; empty if none is left."""
        if not self.remaining:
            return ""
        if not self.running:
            return f"{PENDING} ({len(self.remaining)} of {len(TITLES)} steps left)."
        return f"Upgrading: {self.remaining[0].text}{self._more}."

    @property
    def _more(self) -> str:
        more = len(self.remaining) - 1
        return f"; {more} more steps follow" if more > 1 else "; one more step follows" if more else ""


PENDING = f"Rows of an older release are still to be changed, which {COMMAND} does beside all other work"


def read() -> Upgrade:
    """Return the backfills that are left. Errors: DatabaseError, also while the tables are not made yet."""
    pending = names()
    return Upgrade([get(name) for name in pending], bool(pending) and statements.is_locked(UPGRADE_LOCK))


def report_pending(echo: Echo) -> None:
    """Print that backfills remain, if no process runs them."""
    upgrade = read()
    if upgrade.remaining and not upgrade.running:
        echo(upgrade.sentence)


def names() -> list[str]:
    """Return the names of the backfills that are left, in the order in which they run."""
    pending = {name for (name,) in statements.rows("select name from backfill where finished is null")}
    return [name for name in TITLES if name in pending]


def get(name: str) -> Remaining:
    return Remaining(*statements.row(f"select {_COLUMNS} from backfill where name = %s", [name]))
