"""The status of the node: what it is doing, how far behind it is and, when it is stuck, why.

Source: loader_state, which the loader writes; its lock in PostgreSQL; the last block; passed_over; backfill.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from django.db import connection

from mirror import config
from mirror.config import clock
from mirror.models import LOADER_LOCK, LoaderState
from mirror.node.upgrading import remaining
from mirror.values import timestamp, transaction_types
from mirror.values.readable import duration
from mirror.values.timestamp import NANOS_PER_SECOND

Activity = LoaderState.Activity

# A loader reports at least twice a minute.
SILENT_SECONDS = 120
# A loader that has ended may take this long to report it.
ENDING_SECONDS = 5
# A node this far behind its stream still counts as up to date.
UP_TO_DATE_SECONDS = 60

_PASSED_OVER_NAMED = 3

_RUNNING = """
    select exists (
        select from pg_locks l join pg_database d on d.oid = l.database
        where l.locktype = 'advisory' and d.datname = current_database() and l.granted
            and l.classid = %s and l.objid = %s and l.objsubid = 1),
        (select coalesce(jsonb_agg(p order by p.consensus_timestamp), '[]') from passed_over p)"""
# Index: the primary key (consensus_end).
_LAST_BLOCK = "select index, consensus_end, name from record_file order by consensus_end desc limit 1"

_START = "`manage.py ingest PATH` loads files, `manage.py ingest --follow` follows the network"

DEMO = "demo"
_DEMO_GOES_ON = "`manage.py up --live` lets the demo network go on"


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
class Status:
    """The node at one moment. `loader` is the row of loader_state; `running` says that one has the lock."""

    block: Block | None
    loader: Mapping[str, Any] | None
    running: bool
    now: int
    passed_over: Sequence[Mapping[str, Any]] = ()
    upgrade: remaining.Upgrade = remaining.Upgrade((), False)

    @property
    def problem(self) -> Mapping[str, Any] | None:
        """The reason why the loader is stuck or has failed: `ledger.ingest.reporting.Problem` as JSON."""
        return self.loader["problem"] if self.loader else None

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

        Further sentences say what is left of an upgrade, and which transactions are missing for good.
        """
        return " ".join(part for part in (self._doing, self.upgrade.sentence, self._missing) if part)

    @property
    def _doing(self) -> str:
        loader = self.loader
        if loader is None:
            if self.running:
                return f"Loading. {self._at}."
            on = f"{_DEMO_GOES_ON}, {_START}" if self.block and config.value("network") == DEMO else _START
            return f"{self._at}, and no loader runs: {on}."
        if self._killed:
            return (
                f"Not loading: the loader ({_process(loader)}) ended without a word {self._reported} ago. "
                f"{self._at}. Start it again: it goes on where it was."
            )
        if loader["activity"] == Activity.FAILED:
            return f"Not loading: {_because(loader['problem'])} That was {self._reported} ago. {self._at}."
        if loader["activity"] == Activity.STOPPED:
            return f"Not loading: the loader of {loader['source']} stopped {self._reported} ago. {self._at}."
        if self._silent:
            return (
                f"The loader ({_process(loader)}) has not said anything for {self._reported}: its output may "
                f"tell why; if not, stop and start it. {self._at}."
            )
        return self._of_running(loader)

    def _of_running(self, loader: Mapping[str, Any]) -> str:
        source, activity = loader["source"], loader["activity"]
        if activity == Activity.STUCK:
            return f"Stuck: {_because(loader['problem'])} It is tried again and again. {self._at}."
        if activity == Activity.STARTING:
            return f"Starting to load from {source}. {self._at}."
        late = self.behind is not None and self.behind > UP_TO_DATE_SECONDS
        if not loader["following"]:
            return f"Loading {source}{self._rate}. {self._at}."
        if activity == Activity.WAITING and late:
            return f"Following {source}, which has nothing newer. {self._at}."
        if not late:
            return f"Following {source}, up to date{self._rate}. {self._at}."
        return f"Catching up with {source}{self._rate}{self._time_left}. {self._at}."

    @property
    def _missing(self) -> str:
        """The transactions that were passed over as the operator wished; the first ones by name."""
        if not self.passed_over:
            return ""
        named = [
            f"{transaction_types.name(row['type'])} at {timestamp.text(row['consensus_timestamp'])} "
            f"in {row['file']}"
            for row in self.passed_over[:_PASSED_OVER_NAMED]
        ]
        count, more = len(self.passed_over), len(self.passed_over) - len(named)
        are, their = ("transactions were", "their") if count > 1 else ("transaction was", "its")
        others = f", and {more:,} more" if more else ""
        return (
            f"{count:,} {are} passed over, as importer.parser.passOver says: {', '.join(named)}{others}. "
            f"Only {their} hbar transfers are stored."
        )

    # CLAUSES

    @property
    def _at(self) -> str:
        if self.block is None:
            return "No block is loaded yet"
        old = duration(self.behind or 0)
        return f"The last block is number {self.block.number} of {self.block.time}, {old} old"

    @property
    def _rate(self) -> str:
        transactions, stream = self._value("transaction_rate"), self._value("stream_rate")
        if not transactions:
            return ""
        text = f", {transactions:,.0f} transactions per second"
        return text if not stream or stream < 2 else f"{text}, {stream:,.0f} times as fast as they happened"

    @property
    def _time_left(self) -> str:
        stream = self._value("stream_rate")
        if self.behind is None or not stream or stream <= 1:
            return ""
        return f", about {duration(round(self.behind / (stream - 1)))} to go"

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
        return not self._ended and not self.running and self._silence > ENDING_SECONDS

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
        cursor.execute(_RUNNING, [LOADER_LOCK >> 32, LOADER_LOCK & 0xFFFFFFFF])
        running, passed_over = cursor.fetchone()
    loader, block = LoaderState.objects.values().first(), Block(*row) if row else None
    return Status(block, loader, running, clock.now_ns(), json.loads(passed_over), remaining.read())


# WORDS


def _because(problem: Mapping[str, Any]) -> str:
    """Return a problem as sentences: the file, the place in it, the cause, the cure."""
    place = ", ".join(part for part in (problem["file"], problem["position"]) if part)
    cause = f"{place}: {problem['cause']}" if place else problem["cause"]
    return " ".join(f"{part.rstrip('.')}." for part in (cause, problem["cure"]) if part)


def _process(loader: Mapping[str, Any]) -> str:
    return f"process {loader['process']} on {loader['host']}"


def _seconds(nanoseconds: int) -> int:
    return max(nanoseconds // NANOS_PER_SECOND, 0)
