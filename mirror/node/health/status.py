"""The status of the node: what it is doing, how far behind it is and, when it is stuck, why.

Source: loader_state, which the loader writes; its lock in PostgreSQL; the last block; loaded_range;
skipped_transaction; backfill.
"""

import json
import re
import socket
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from django.db import connection

from ledger.archive.location import archived_kinds
from ledger.stream.source.incidents import LASTS_SECONDS
from mirror.core import config
from mirror.core.config import clock
from mirror.core.db import coverage
from mirror.core.db.coverage import NOBODY_KNOWS, Loaded
from mirror.core.values import timestamp
from mirror.core.values.hapi import transaction_types
from mirror.core.values.human_readable import duration
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.models import LOADER_LOCK, LoaderState
from mirror.node.health import block_nodes
from mirror.node.health.coverage import loaded_json
from mirror.operations.upgrade import remaining

Activity = LoaderState.Activity

# A loader reports at least twice a minute.
SILENT_SECONDS = 120
# A loader that has ended may take this long to report it.
ENDING_SECONDS = 5
# A node this far behind its stream still counts as up to date.
UP_TO_DATE_SECONDS = 60
# A clock so far behind the last block is wrong.
_CLOCK_SECONDS = 60

_PASSED_OVER_NAMED = 3
_FASTEST = 100_000
# Status is asked for often, and a place may be away for weeks.
_MOST_COUNTED = 10_000

_RUNNING = """
    select exists (
        select from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and d.datname = current_database() and l.granted
            and l.classid = %s and l.objid = %s and l.objsubid = 1),
        pg_is_in_recovery(),
        (select error from reconciliation_job
            order by consensus_timestamp desc, timestamp_start desc limit 1),
        (select coalesce(jsonb_agg(p order by p.consensus_timestamp), '[]') from skipped_transaction p),
        (select jsonb_build_object(
                'files', (select count(*) from (select from archive_failure limit %s) counted),
                'since', extract(epoch from since)::bigint, 'first', name, 'reason', reason)
            from archive_failure order by consensus_end limit 1)"""
# Index: the primary key (consensus_end).
_LAST_BLOCK = "select index, consensus_end, name from record_file order by consensus_end desc limit 1"

# Some cures say themselves that the node tries again.
_SAYS_SO = re.compile(r"(tried|asked) again")
_START = "`manage.py ingest PATH` loads files, `manage.py ingest --follow` follows the network"
_START_DEMO = "`manage.py up` makes the demo network and loads it"
_FOLLOW = "`manage.py up`, or `manage.py ingest --follow`"

DEMO, _LIVE_DEMO = "demo", "the live demo network"
_LIVE = "`manage.py up --live` lets it go on"


class State(StrEnum):
    """What the node is doing, in a word; `manage.py status --json` names it."""

    # No loader has ever reported: without any block, or with some.
    EMPTY = "empty"
    IDLE = "idle"
    # A loader works.
    STARTING = "starting"
    LOADING = "loading"
    CATCHING_UP = "catching_up"
    UP_TO_DATE = "up_to_date"
    # It has loaded all that its source has, which is old.
    NOTHING_NEWER = "nothing_newer"
    STUCK = "stuck"
    # It has not reported for long, though it runs.
    SILENT = "silent"
    # It has ended: as it was asked to, with an error, or without a word.
    STOPPED = "stopped"
    FAILED = "failed"
    KILLED = "killed"


# What strangers are told.
_PUBLIC = {
    State.EMPTY: "Nothing is being loaded.",
    State.IDLE: "Nothing is being loaded.",
    State.STARTING: "Starting to load.",
    State.LOADING: "Loading.",
    State.CATCHING_UP: "Catching up with the network.",
    State.UP_TO_DATE: "Up to date.",
    State.NOTHING_NEWER: "All that the network has published is loaded.",
    State.STUCK: "Stuck: someone has to look after this node.",
    State.SILENT: "Nothing is being loaded: someone has to look after this node.",
    State.STOPPED: "Nothing is being loaded.",
    State.FAILED: "Nothing is being loaded: someone has to look after this node.",
    State.KILLED: "Nothing is being loaded: someone has to look after this node.",
}


@dataclass(frozen=True)
class Block:
    number: int
    consensus_end: int
    name: str

    @property
    def time(self) -> str:
        seconds = self.consensus_end // NANOS_PER_SECOND
        return f"{datetime.fromtimestamp(seconds, UTC):%Y-%m-%d %H:%M:%S} UTC"


@dataclass(frozen=True)
class MissingArchiveFile:
    """The loaded files that are missing among those kept.

    `first` is the name of the first one; it is missing since `since` (s), for the `reason`. `files` stops at
    10,001, which stands for more than 10,000.
    """

    files: int = 0
    since: int | None = None
    first: str | None = None
    reason: str | None = None

    def sentence(self, now: int) -> str:
        """Return what is missing, for a time (s); nothing if nothing is."""
        if not self.files:
            return ""
        files = "A file is" if self.files == 1 else f"{self.files:,} files are"
        if self.files > _MOST_COUNTED:
            files = f"More than {_MOST_COUNTED:,} files are"
        for_long = duration(max(now - (self.since or now), 0))
        return (
            f"{files} missing in the kept files, for {for_long}, from {self.first} on: {self.reason}. "
            "A loader that follows the stream fetches what its source still has."
        )


@dataclass(frozen=True)
class Status:
    """The node at one moment. `loader` is the row of loader_state; `running` says that one has the lock.

    A `standby` is a copy that PostgreSQL itself keeps up to date: its loader works on the original, and has
    its lock there.
    """

    block: Block | None
    loader: Mapping[str, Any] | None
    running: bool
    now: int
    skipped_transaction: Sequence[Mapping[str, Any]] = ()
    upgrade: remaining.Upgrade = remaining.Upgrade((), False)
    standby: bool = False
    # What the newest balance file that was compared states otherwise, in words.
    difference: str = ""
    loaded: Loaded = NOBODY_KNOWS
    archive_failure: MissingArchiveFile = MissingArchiveFile()

    @property
    def problem(self) -> Mapping[str, Any] | None:
        """The reason why the loader is stuck or has failed: `ledger.ingest.reporting.Problem` as JSON."""
        return self.loader["problem"] if self.loader else None

    @property
    def block_source(self) -> Mapping[str, Any] | None:
        """Where the loader has blocks from; None while it follows none."""
        works = not self._ended and not self._killed
        return self.loader.get("block_source") if self.loader and works else None

    @property
    def needs_help(self) -> bool:
        """True if someone has to do something before the node can go on."""
        return self.problem is not None or self._killed or self._silent

    @property
    def behind(self) -> int | None:
        """Seconds from the last block to now."""
        return None if self.block is None else _seconds(self.now - self.block.consensus_end)

    @property
    def sentence(self) -> str:
        """What the node is doing, how far behind, at what rate; when it can't go on, why and what to do.

        Further sentences say where blocks come from, what is left of an upgrade, which transactions are
        missing for good, which files could not be kept, how the balances differ from those of the network,
        and that this is a copy.
        """
        blocks = block_nodes.sentences(self.block_source, self.now / NANOS_PER_SECOND)
        upgrade, archive_failure = (
            self.upgrade.sentence,
            self.archive_failure.sentence(self.now // NANOS_PER_SECOND),
        )
        parts = (
            self._doing,
            self._incidents,
            self._clock,
            blocks,
            upgrade,
            self._missing,
            archive_failure,
            self._differs,
            self._copy,
        )
        return " ".join(part for part in parts if part)

    @property
    def state(self) -> State:
        loader = self.loader
        if loader is None:
            return State.LOADING if self.running else State.EMPTY if self.block is None else State.IDLE
        if self._killed:
            return State.KILLED
        if self._silent:
            return State.SILENT
        activity = loader["activity"]
        if activity not in (Activity.LOADING, Activity.WAITING) or not loader["following"]:
            return State.LOADING if activity == Activity.WAITING else State(activity)
        if self.behind is None or self.behind <= UP_TO_DATE_SECONDS:
            return State.UP_TO_DATE
        return State.NOTHING_NEWER if activity == Activity.WAITING else State.CATCHING_UP

    @property
    def _doing(self) -> str:
        loader, at, rate = self.loader or {}, self._at, self._rate
        source, process, ago = loader.get("source"), process_of(loader), f"{self._reported} ago"
        match self.state:
            case State.EMPTY if config.value("network") == DEMO:
                return f"{at}, and no loader runs: {_START_DEMO}."
            case State.EMPTY:
                return f"{at}, and no loader runs: {_START}."
            case State.IDLE if config.value("network") == DEMO:
                return f"All of the demo network's history is loaded. It has ended: {_LIVE}. {at}."
            case State.IDLE:
                return f"{at}, and no loader runs: {_START}."
            case State.STARTING:
                return f"Starting to load from {source}. {at}."
            case State.LOADING:
                return f"Loading {source}{rate}. {at}." if loader else f"Loading. {at}."
            case State.CATCHING_UP:
                return f"Catching up with {source}{rate}{self._time_left}. {at}."
            case State.UP_TO_DATE:
                return f"Following {source}, up to date{self._transactions}. {at}."
            case State.NOTHING_NEWER:
                return (
                    f"Following {source}; nothing newer is there. {at}: if the network runs, check that it "
                    "publishes there."
                )
            case State.STUCK:
                because = _because(loader["problem"])
                goes_on = (
                    "" if _SAYS_SO.search(loader["problem"]["cure"]) else " The node tries again by itself."
                )
                return f"Stuck{self._since}{because}{goes_on} {at}."
            case State.FAILED:
                return f"Not loading: the loader ended {ago}{_because(loader['problem'])} {at}."
            case State.STOPPED if source == _LIVE_DEMO:
                return f"Not loading: {source} was stopped {ago}. {at}; {_LIVE}."
            case State.STOPPED if loader["following"]:
                return f"Not loading: the loader of {source} was stopped {ago}. {at}. To go on: {_FOLLOW}."
            case State.STOPPED:
                return f"Not loading: the loader of {source} ended {ago}, without an error. {at}."
            case State.KILLED:
                copied = (
                    ", or this is a copy of its database" if loader["host"] != socket.gethostname() else ""
                )
                return (
                    f"Not loading: the loader ({process}) ended without a word {ago}: it was killed, or its "
                    f"machine went down{copied}. {at}. Start it again: it goes on where it was."
                )
            case State.SILENT:
                return (
                    f"The loader ({process}) has not said anything for {self._reported}: its output may tell "
                    f"why; if not, stop it and start it again. {at}."
                )

    @property
    def public_sentence(self) -> str:
        """What the node is doing, for strangers: no process, host, file or source is in it."""
        if self.block is None:
            none = "No block is loaded yet."
            return none if self.state is State.EMPTY else f"{_PUBLIC[self.state]} {none}"
        if self.state is State.IDLE and config.value("network") == DEMO:
            return "All of the demo network's history is loaded."
        return _PUBLIC[self.state]

    @property
    def json(self) -> dict[str, Any]:
        """The same for programs. Times are `seconds.nnnnnnnnn`, as in the API."""
        loader, block = self.loader, self.block
        return {
            "sentence": self.sentence,
            "state": self.state,
            "needs_help": self.needs_help,
            "now": timestamp.text(self.now),
            "last_block": block
            and {
                "number": block.number,
                "to": timestamp.text(block.consensus_end),
                "name": block.name,
                "seconds_behind": self.behind,
            },
            "loader": loader
            and {
                "activity": loader["activity"],
                "source": loader["source"],
                "following": loader["following"],
                "running": self.running,
                "process": loader["process"],
                "host": loader["host"],
                "started": _text(loader["started"]),
                "reported": _text(loader["reported"]),
                "files": loader["files"],
                "transactions": loader["transactions"],
                "transactions_per_second": loader["transaction_rate"],
                "seconds_left": self._seconds_left,
                "block_source": self.block_source,
                "incidents": self.incidents,
            },
            "problem": self.problem,
            "upgrade": {
                "running": self.upgrade.running,
                "steps": [
                    {"name": step.name, "share": step.share, "seconds_left": step.seconds_left}
                    for step in self.upgrade.left
                ],
            },
            "skipped_transaction": list(self.skipped_transaction),
            "archive_failure": asdict(self.archive_failure) if self.archive_failure.files else None,
            "balances_differ": self.difference or None,
            "standby": self.standby,
            "loaded": loaded_json(self.loaded) if self.loaded.is_known else None,
        }

    @property
    def _missing(self) -> str:
        """The transactions that were passed over as the operator wished; the first ones by name."""
        if not self.skipped_transaction:
            return ""
        named = [
            f"{transaction_types.name(row['type'])} at {timestamp.text(row['consensus_timestamp'])} "
            f"in {row['file']}"
            for row in self.skipped_transaction[:_PASSED_OVER_NAMED]
        ]
        count, more = len(self.skipped_transaction), len(self.skipped_transaction) - len(named)
        are, their = ("transactions were", "their") if count > 1 else ("transaction was", "its")
        others = f", and {more:,} more" if more else ""
        return (
            f"{count:,} {are} passed over, as importer.parser.skip says: {', '.join(named)}{others}. "
            f"Only {their} hbar transfers are stored."
        )

    @property
    def _differs(self) -> str:
        """The outcome of `manage.py reconcile` with the newest balance file, if something differs."""
        if not self.difference:
            return ""
        return (
            f"Balances are not those of the network: {self.difference} The table balance_difference has them."
        )

    @property
    def incidents(self) -> Mapping[str, Any] | None:
        """What has failed or was slow at the source of a loader that works."""
        return self.loader.get("incidents") if self.loader and not (self._ended or self._killed) else None

    @property
    def _incidents(self) -> str:
        if not self.incidents:
            return ""
        count, last = self.incidents["count"], self.incidents["last"][0]
        ago = duration(max(self.now // NANOS_PER_SECOND - last["at"], 0))
        return (
            f"{count:,} request{'s' if count > 1 else ''} to the source failed or took long in the last "
            f"{duration(LASTS_SECONDS)}, the last one {ago} ago: {last['cause'].rstrip('.')}."
        )

    @property
    def _clock(self) -> str:
        """What is wrong with this machine's clock, if it is behind the last block."""
        ahead = 0 if self.block is None else _seconds(self.block.consensus_end - self.now)
        if ahead <= _CLOCK_SECONDS:
            return ""
        return (
            f"The clock of this machine is at least {duration(ahead)} behind that of the network, whose last "
            "block is later than now: set it, for example by NTP."
        )

    # CLAUSES

    @property
    def _at(self) -> str:
        if self.block is None:
            return "No block is loaded yet"
        old = duration(self.behind or 0)
        return f"The last block is number {self.block.number} of {self.block.time}, {old} old"

    @property
    def _transactions(self) -> str:
        rate = self._value("transaction_rate")
        return f", {rate:,.0f} transactions per second" if rate else ""

    @property
    def _rate(self) -> str:
        stream = self._value("stream_rate")
        # A stream with a long pause in it has no speed worth telling.
        tells = stream and 2 <= stream < _FASTEST
        faster = f", {stream:,.0f} times as fast as they happened" if tells else ""
        return f"{self._transactions}{faster}" if self._transactions else ""

    @property
    def _since(self) -> str:
        """How long the loader has been stuck; a release before this one did not report that."""
        since = (self.problem or {}).get("since")
        return f" for {duration(max(self.now // NANOS_PER_SECOND - since, 0))}" if since else ""

    @property
    def _copy(self) -> str:
        if not self.standby:
            return ""
        return "This database is a copy that PostgreSQL keeps up to date; the loader works on the original."

    @property
    def _time_left(self) -> str:
        seconds = self._seconds_left
        return f", about {duration(seconds)} to go" if seconds else ""

    @property
    def _seconds_left(self) -> int | None:
        """Seconds until the loader has caught up with the stream."""
        stream: float | None = self._value("stream_rate")
        if self.behind is None or not stream or stream <= 1 or not self._value("following"):
            return None
        return round(self.behind / (stream - 1))

    @property
    def _reported(self) -> str:
        return duration(self._silence)

    @property
    def _silence(self) -> int:
        reported: datetime | None = self._value("reported")
        return 0 if reported is None else _seconds(self.now - round(reported.timestamp() * NANOS_PER_SECOND))

    @property
    def _ended(self) -> bool:
        return self._value("activity") in (None, Activity.STOPPED, Activity.FAILED)

    @property
    def _killed(self) -> bool:
        # A loader reports as long as it has the lock.
        patience = SILENT_SECONDS if self.standby else ENDING_SECONDS
        return not self._ended and not self.running and self._silence > patience

    @property
    def _silent(self) -> bool:
        return not self._ended and self.running and self._silence > SILENT_SECONDS

    def _value(self, name: str) -> Any:
        return self.loader[name] if self.loader else None


def read() -> Status:
    """Return the status now. Errors: DatabaseError, also while the tables are not made yet."""
    with connection.cursor() as cursor:
        cursor.execute(_LAST_BLOCK)
        row = cursor.fetchone()
        cursor.execute(_RUNNING, [LOADER_LOCK >> 32, LOADER_LOCK & 0xFFFFFFFF, _MOST_COUNTED + 1])
        running, standby, difference, skipped_transaction, archive_failure = cursor.fetchone()
    loader, block = LoaderState.objects.values().first(), Block(*row) if row else None
    return Status(
        block=block,
        loader=loader,
        running=running,
        now=clock.now_ns(),
        skipped_transaction=json.loads(skipped_transaction),
        # Nobody misses them, or fetches them, where nothing is to be kept any more.
        archive_failure=MissingArchiveFile(**json.loads(archive_failure))
        if archive_failure and archived_kinds()
        else MissingArchiveFile(),
        upgrade=remaining.read(),
        standby=standby,
        loaded=coverage.read(),
        difference=difference or "",
    )


# WORDS


def _because(problem: Mapping[str, Any]) -> str:
    """Return a problem as the end of a sentence, with the file and the place in it, and the cure."""
    place = ", ".join(part for part in (problem["file"], problem["position"]) if part)
    cause = f" at {place}: {problem['cause']}" if place else f": {problem['cause']}"
    return " ".join(f"{part.rstrip('.')}." for part in (cause, problem["cure"]) if part)


def process_of(loader: Mapping[str, Any]) -> str:
    return f"process {loader.get('process')} on {loader.get('host')}"


def _text(time: datetime) -> str:
    return timestamp.text(round(time.timestamp() * NANOS_PER_SECOND))


def _seconds(nanoseconds: int) -> int:
    return max(nanoseconds // NANOS_PER_SECOND, 0)
