"""The facts about a node: its last block, its loader, and what is left to do or was left out.

Source: loader_state, which the loader writes; its lock in PostgreSQL; the last block; loaded_range;
skipped_transaction; archive_failure; backfill. `mirror.node.health.status` prints them.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from ledger.loaded_ranges import UNKNOWN, Loaded
from mirror.core.values.human_readable import duration
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.models import LoaderState
from mirror.upgrade import remaining

Activity = LoaderState.Activity

# A loader reports at least every five seconds: after this, its last report no longer says what it does.
LATE_SECONDS = 10
# After this, an operator has to look after it.
SILENT_SECONDS = 120
# A loader that has ended may take this long to report it.
ENDING_SECONDS = 5
# A node this far behind its stream still counts as up to date.
UP_TO_DATE_SECONDS = 60
#: Missing files are counted up to this number: status is read often, and an archive may be away for weeks.
MAX_COUNTED = 10_000


class State(StrEnum):
    """What the node is doing, in a word; `manage.py status --json` names it.

    Without any report of a loader it is `empty`, or `idle` with some block. `nothing_newer`: all of an old
    source is loaded. `silent`: no report for ten seconds, though the loader runs. It has ended by a signal
    (`stopped`), with an error (`failed`), or without reporting it (`killed`).
    """

    EMPTY = "empty"
    IDLE = "idle"
    STARTING = "starting"
    LOADING = "loading"
    CATCHING_UP = "catching_up"
    UP_TO_DATE = "up_to_date"
    NOTHING_NEWER = "nothing_newer"
    STUCK = "stuck"
    SILENT = "silent"
    STOPPED = "stopped"
    FAILED = "failed"
    KILLED = "killed"


@dataclass(frozen=True)
class Block:
    """The last block: its number, its end (ns), and the name of its file."""

    number: int
    consensus_end: int
    name: str

    @property
    def time(self) -> str:
        seconds = self.consensus_end // NANOS_PER_SECOND
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True)
class MissingArchiveFile:
    """The loaded files that are missing in the archive.

    `first` is the name of the first one, missing since `since` (s), for the `reason`. Of more than 10,000
    `files`, 10,001 are counted.
    """

    files: int = 0
    since: int | None = None
    first: str | None = None
    reason: str | None = None

    def sentence(self, now: int) -> str:
        """Return what is missing at a time (s); empty if nothing is."""
        if not self.files:
            return ""
        files = "A file is" if self.files == 1 else f"{self.files:,} files are"
        if self.files > MAX_COUNTED:
            files = f"More than {MAX_COUNTED:,} files are"
        for_long = duration(max(now - (self.since or now), 0))
        return (
            f"{files} missing in the kept files, for {for_long}, from {self.first} on: {self.reason}. "
            "A loader that follows the stream fetches what its source still has."
        )


@dataclass(frozen=True)
class Facts:
    """The facts at the time `now`. `loader` is the row of loader_state; `running` says that one has the lock.

    A `standby` is a replica of PostgreSQL: its loader works on the primary, and has its lock there.
    """

    block: Block | None
    loader: Mapping[str, Any] | None
    running: bool
    now: int
    skipped_transaction: Sequence[Mapping[str, Any]] = ()
    upgrade: remaining.Upgrade = remaining.Upgrade((), False)
    standby: bool = False
    # What differs from the newest balance file that was compared, in words.
    difference: str = ""
    loaded: Loaded = UNKNOWN
    archive_failure: MissingArchiveFile = MissingArchiveFile()

    @property
    def problem(self) -> Mapping[str, Any] | None:
        """The reason why the loader is stuck or has failed: `ledger.ingest.reporting.Problem` as JSON."""
        return self.loader["problem"] if self.loader else None

    @property
    def block_source(self) -> Mapping[str, Any] | None:
        """The source of blocks, and the block nodes, as a working loader that follows blocks reports them."""
        return self.loader.get("block_source") if self.loader and self._works else None

    @property
    def incidents(self) -> Mapping[str, Any] | None:
        """What has failed or was slow at the source of a loader that works."""
        return self.loader.get("incidents") if self.loader and self._works else None

    @property
    def _works(self) -> bool:
        return not self.has_ended and not self.is_killed

    @property
    def needs_operator(self) -> bool:
        """Whether an operator has to do something before the node can go on."""
        return self.problem is not None or self.is_killed or self.is_silent

    @property
    def is_well(self) -> bool:
        """Whether no one has to do anything, and the last report is recent."""
        return not self.needs_operator and not self.is_late

    @property
    def state(self) -> State:
        loader = self.loader
        if loader is None:
            return State.LOADING if self.running else State.EMPTY if self.block is None else State.IDLE
        if self.is_killed:
            return State.KILLED
        if self.is_late:
            return State.SILENT
        activity = loader["activity"]
        if activity not in (Activity.LOADING, Activity.WAITING) or not loader["following"]:
            return State.LOADING if activity == Activity.WAITING else State(activity)
        if self.lag_seconds is None or self.lag_seconds <= UP_TO_DATE_SECONDS:
            return State.UP_TO_DATE
        return State.NOTHING_NEWER if activity == Activity.WAITING else State.CATCHING_UP

    @property
    def lag_seconds(self) -> int | None:
        """Seconds from the last block to now."""
        return None if self.block is None else seconds(self.now - self.block.consensus_end)

    @property
    def seconds_left(self) -> int | None:
        """Seconds until the loader has caught up with the stream."""
        stream: float | None = None if self.is_late else self.loader_value("stream_rate")
        if self.lag_seconds is None or not stream or stream <= 1 or not self.loader_value("following"):
            return None
        return round(self.lag_seconds / (stream - 1))

    @property
    def report_age(self) -> int:
        """Seconds since the last report of the loader."""
        reported: datetime | None = self.loader_value("reported")
        return 0 if reported is None else seconds(self.now - round(reported.timestamp() * NANOS_PER_SECOND))

    @property
    def has_ended(self) -> bool:
        return self.loader_value("activity") in (None, Activity.STOPPED, Activity.FAILED)

    @property
    def is_killed(self) -> bool:
        # A loader reports as long as it has the lock.
        patience = SILENT_SECONDS if self.standby else ENDING_SECONDS
        return not self.has_ended and not self.running and self.report_age > patience

    @property
    def transaction_rate(self) -> float | None:
        """Transactions per second over the last minute, if the last report is recent."""
        rate: float | None = None if self.is_late else self.loader_value("transaction_rate")
        return rate

    @property
    def is_late(self) -> bool:
        """Whether a loader runs, here or on the primary, whose last report is too old to go by."""
        return not self.has_ended and (self.running or self.standby) and self.report_age > LATE_SECONDS

    @property
    def is_silent(self) -> bool:
        return not self.has_ended and self.running and self.report_age > SILENT_SECONDS

    def loader_value(self, name: str) -> Any:
        """Return a column of loader_state, None without a row."""
        return self.loader[name] if self.loader else None


def seconds(nanoseconds: int) -> int:
    """Return whole seconds, 0 for negative times."""
    return max(nanoseconds // NANOS_PER_SECOND, 0)
