"""The backfills that are left to do, and how far the one at work is. Source: the table backfill."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.db import connection

from mirror.core.db.backfill import TITLES
from mirror.core.values.human_readable import duration
from mirror.models import UPGRADE_LOCK

COMMAND = "`manage.py upgrade`"
# The time left is unknown before this share is done.
_LEAST_SHARE = 0.02

_COLUMNS = "name, newest, oldest, position, rows, seconds, started is not null, finished is not null"
_RUNNING = """
    select exists (
        select from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and d.datname = current_database() and l.granted
            and l.classid = %s and l.objid = %s and l.objsubid = 1)"""


@dataclass(frozen=True)
class Remaining:
    """One backfill: its ends and position, the number of rows it has changed and the seconds that it took."""

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
        """Return the share of its span that is done."""
        if self.finished:
            return 1.0
        if self.newest is None or self.oldest is None or self.position is None or self.newest <= self.oldest:
            return 0.0
        return (self.newest - self.position) / (self.newest - self.oldest)

    @property
    def seconds_left(self) -> float | None:
        share = self.share
        return self.seconds / share * (1 - share) if share >= _LEAST_SHARE else None

    @property
    def text(self) -> str:
        """Return title, share and time left."""
        left = self.seconds_left
        about = f", about {duration(round(left))} left" if left is not None and not self.finished else ""
        return f"{TITLES[self.name]}, {self.share:.0%}{about}".replace("%", " %")


@dataclass(frozen=True)
class Upgrade:
    """All backfills that are left, in their order, and whether a process works on them."""

    left: Sequence[Remaining]
    running: bool

    @property
    def sentence(self) -> str:
        """Return the backfill at work, or the command that would run it; nothing if none is left."""
        if not self.left:
            return ""
        if not self.running:
            return f"{PENDING} ({len(self.left)} of {len(TITLES)} steps left)."
        return f"Upgrading: {self.left[0].text}{self._more}."

    @property
    def _more(self) -> str:
        more = len(self.left) - 1
        return f"; {more} more steps follow" if more > 1 else "; one more step follows" if more else ""


PENDING = f"Rows of an older release are still to be changed, which {COMMAND} does beside all other work"


def read() -> Upgrade:
    """Return the backfills that are left. Errors: DatabaseError, also while the tables are not made yet."""
    with connection.cursor() as cursor:
        left = names()
        if not left:
            return Upgrade((), False)
        cursor.execute(_RUNNING, [UPGRADE_LOCK >> 32, UPGRADE_LOCK & 0xFFFFFFFF])
        (running,) = cursor.fetchone()
    return Upgrade([of(name) for name in left], running)


def say_pending(say: Callable[[str], None]) -> None:
    """Say that backfills are left, if no process runs them."""
    upgrade = read()
    if upgrade.left and not upgrade.running:
        say(upgrade.sentence)


def names() -> list[str]:
    """Return the names of the backfills that are left, in the order in which they are run."""
    with connection.cursor() as cursor:
        cursor.execute("select name from backfill where finished is null")
        left = {name for (name,) in cursor.fetchall()}
    return [name for name in TITLES if name in left]


def of(name: str) -> Remaining:
    with connection.cursor() as cursor:
        cursor.execute(f"select {_COLUMNS} from backfill where name = %s", [name])
        return Remaining(*cursor.fetchone())
