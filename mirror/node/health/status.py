"""The status of the node, in words and as JSON: what it does, how far behind it is, why it is stuck."""

import json
import re
import socket
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe

from ledger import loaded_ranges
from ledger.archive.location import archived_kinds
from ledger.stream.source.incidents import WINDOW_SECONDS
from mirror.core import config
from mirror.core.config import clock
from mirror.core.db import statements
from mirror.core.values import timestamp
from mirror.core.values.hapi import transaction_types
from mirror.core.values.human_readable import duration
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.models import LOADER_LOCK, LoaderState
from mirror.node.health import block_nodes, facts
from mirror.node.health.facts import Block, Facts, MissingArchiveFile, State, seconds
from mirror.node.health.loaded_ranges import loaded_json
from mirror.upgrade import remaining

# A clock so far behind the last block is wrong.
_CLOCK_SECONDS = 60
_MAX_NAMED = 3
# A faster stream has a long pause in it.
_FASTEST = 100_000

_FACTS = f"""
    select {statements.IS_LOCKED},
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

# Columns of loader_state that the JSON has as they are.
_REPORTED = ("activity", "source", "following", "process", "host", "files", "transactions")

_DIFFERS = "Balances are not those of the network: {} The table balance_difference has them."
_COPY = "This database is a copy that PostgreSQL keeps up to date; the loader works on the original."

DEMO, _LIVE_DEMO = "demo", "the live demo network"
_LIVE = "`manage.py up --live` lets it go on"

# For readers who are not operators.
_PUBLIC = {
    **dict.fromkeys((State.EMPTY, State.IDLE, State.STOPPED), "Nothing is being loaded."),
    State.STARTING: "Starting to load.",
    State.LOADING: "Loading.",
    State.CATCHING_UP: "Catching up with the network.",
    State.UP_TO_DATE: "Up to date.",
    State.NOTHING_NEWER: "All that the network has published is loaded.",
    State.STUCK: "Stuck: someone has to look after this node.",
    **dict.fromkeys(
        (State.SILENT, State.FAILED, State.KILLED),
        "Nothing is being loaded: someone has to look after this node.",
    ),
}


class Status(Facts):
    """The facts about a node in words, and as JSON."""

    @property
    def sentence(self) -> str:
        """What the node is doing, how far behind, at what rate; when it can't go on, why and what to do.

        Further sentences are about the source of blocks, an upgrade, skipped transactions, files that
        could not be archived, balances that differ from those of the network, and replicas.
        """
        blocks = block_nodes.sentences(self.block_source, self.now / NANOS_PER_SECOND)
        parts = (
            self._doing,
            self._incidents,
            self.clock_sentence,
            blocks,
            self.upgrade.sentence,
            self._missing,
            self.archive_failure.sentence(self.now // NANOS_PER_SECOND),
            self.difference and _DIFFERS.format(self.difference),
            _COPY if self.standby else "",
        )
        return " ".join(part for part in parts if part)

    @property
    def _doing(self) -> str:
        loader, at, rate = self.loader or {}, self._at, self._rate()
        source, process, ago = loader.get("source"), process_of(loader), f"{duration(self.report_age)} ago"
        is_demo = config.value("network") == DEMO
        match self.state:
            case State.IDLE if is_demo:
                return f"All of the demo network's history is loaded. It has ended: {_LIVE}. {at}."
            case State.EMPTY | State.IDLE:
                return f"{at}, and no loader runs: {_START_DEMO if is_demo else _START}."
            case State.STARTING:
                return f"Starting to load from {source}. {at}."
            case State.LOADING:
                return f"Loading {source}{rate}. {at}." if loader else f"Loading. {at}."
            case State.CATCHING_UP:
                left = f", about {duration(self.seconds_left)} to go" if self.seconds_left else ""
                return f"Catching up with {source}{rate}{left}. {at}."
            case State.UP_TO_DATE:
                return f"Following {source}, up to date{self._rate(faster=False)}. {at}."
            case State.NOTHING_NEWER:
                return (
                    f"Following {source}; nothing newer is there. {at}: if the network runs, check that it "
                    "publishes there."
                )
            case State.STUCK:
                problem = loader["problem"]
                goes_on = "" if _SAYS_SO.search(problem["cure"]) else " The node tries again by itself."
                # An older release does not report since when.
                since = problem.get("since")
                how_long = f" for {duration(max(self.now // NANOS_PER_SECOND - since, 0))}" if since else ""
                return f"Stuck{how_long}{_cause_clause(problem)}{goes_on} {at}."
            case State.FAILED:
                return f"Not loading: the loader ended {ago}{_cause_clause(loader['problem'])} {at}."
            case State.STOPPED if source == _LIVE_DEMO:
                return f"Not loading: {source} was stopped {ago}. {at}; {_LIVE}."
            case State.STOPPED if loader["following"]:
                return f"Not loading: the loader of {source} was stopped {ago}. {at}. To go on: {_FOLLOW}."
            case State.STOPPED:
                return f"Not loading: the loader of {source} ended {ago}, without an error. {at}."
            case State.KILLED:
                is_here = loader["host"] == socket.gethostname()
                copied = "" if is_here else ", or this is a copy of its database"
                return (
                    f"Not loading: the loader ({process}) ended without a word {ago}: it was killed, or its "
                    f"machine went down{copied}. {at}. Start it again: it goes on where it was."
                )
            case State.SILENT if not self.is_silent:
                return (
                    f"The loader ({process}) last reported {ago}: its process is stopped, or its machine or "
                    f"the database is overloaded. {at}."
                )
            case State.SILENT:
                return (
                    f"The loader ({process}) has not said anything for {duration(self.report_age)}: its "
                    f"output may tell why; if not, stop it and start it again. {at}."
                )

    @property
    def public_sentence(self) -> str:
        """What the node is doing, for the public: without processes, hosts, files and sources."""
        if self.block is None:
            none = "No block is loaded yet."
            return none if self.state is State.EMPTY else f"{_PUBLIC[self.state]} {none}"
        if self.state is State.IDLE and config.value("network") == DEMO:
            return "All of the demo network's history is loaded."
        if self.state is State.SILENT and not self.is_silent:
            return f"The loader last reported {duration(self.report_age)} ago."
        return _PUBLIC[self.state]

    @property
    def json(self) -> dict[str, Any]:
        """The same for programs. Times are `seconds.nnnnnnnnn`, as in the API."""
        loader, block = self.loader, self.block
        return {
            "sentence": self.sentence,
            "state": self.state,
            "needs_help": self.needs_operator,
            "now": timestamp.text(self.now),
            "last_block": block
            and {
                "number": block.number,
                "to": timestamp.text(block.consensus_end),
                "name": block.name,
                "seconds_behind": self.lag_seconds,
            },
            "loader": loader
            and {
                **{name: loader[name] for name in _REPORTED},
                **{name: _text(loader[name]) for name in ("started", "reported")},
                "running": self.running,
                "transactions_per_second": self.transaction_rate,
                "seconds_left": self.seconds_left,
                "block_source": self.block_source,
                "incidents": self.incidents,
            },
            "problem": self.problem,
            "upgrade": {
                "running": self.upgrade.running,
                "steps": [
                    {"name": step.name, "share": step.share, "seconds_left": step.seconds_left}
                    for step in self.upgrade.remaining
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
        """The skipped transactions, the first ones by name."""
        if not self.skipped_transaction:
            return ""
        named = [
            f"{transaction_types.name(row['type'])} at {timestamp.text(row['consensus_timestamp'])} "
            f"in {row['file']}"
            for row in self.skipped_transaction[:_MAX_NAMED]
        ]
        count, more = len(self.skipped_transaction), len(self.skipped_transaction) - len(named)
        are, their = ("transactions were", "their") if count > 1 else ("transaction was", "its")
        others = f", and {more:,} more" if more else ""
        return (
            f"{count:,} {are} passed over, as importer.parser.skip says: {', '.join(named)}{others}. "
            f"Only {their} hbar transfers are stored."
        )

    @property
    def _incidents(self) -> str:
        if not self.incidents:
            return ""
        count, last = self.incidents["count"], self.incidents["last"][0]
        ago = duration(max(self.now // NANOS_PER_SECOND - last["at"], 0))
        return (
            f"{count:,} request{'s' if count > 1 else ''} to the source failed or took long in the last "
            f"{duration(WINDOW_SECONDS)}, the last one {ago} ago: {last['cause'].rstrip('.')}."
        )

    @property
    def waits_for_clock(self) -> bool:
        """Whether the live demo network is ahead of the clock of this machine, and waits for it."""
        return self._ahead > _CLOCK_SECONDS and self.loader_value("source") == _LIVE_DEMO

    @property
    def _ahead(self) -> int:
        """The seconds from now to the last block; 0 if that is over."""
        return 0 if self.block is None else seconds(self.block.consensus_end - self.now)

    @property
    def clock_sentence(self) -> str:
        """What is wrong with this machine's clock, if it is behind the last block."""
        ahead = self._ahead
        if ahead <= _CLOCK_SECONDS:
            return ""
        if self.waits_for_clock:
            return (
                f"The demo network waits for {duration(ahead)}: its last block is that much later than now, "
                "as the clock of this machine was ahead when it was made."
            )
        return slow_clock(ahead)

    @property
    def _at(self) -> str:
        if self.block is None:
            return "No block is loaded yet"
        old = duration(self.lag_seconds or 0)
        return f"The last block is number {self.block.number} of {self.block.time}, {old} old"

    def _rate(self, *, faster: bool = True) -> str:
        """Return how much is loaded, and how many times `faster` than it happened if that says something."""
        rate, stream = self.transaction_rate, self.loader_value("stream_rate")
        if not rate:
            return ""
        times = f", {stream:,.0f} times as fast as they happened" if stream and 2 <= stream < _FASTEST else ""
        return f", {rate:,.0f} transactions per second{times if faster else ''}"


def read() -> Status:
    """Return the status now. Errors: DatabaseError, also while the tables are not made yet."""
    row = statements.row(_LAST_BLOCK)
    running, standby, difference, skipped_transactions, archive_failure = statements.row(
        _FACTS, [LOADER_LOCK, facts.MAX_COUNTED + 1]
    )
    missing = MissingArchiveFile()
    if archive_failure and archived_kinds():
        missing = MissingArchiveFile(**json.loads(archive_failure))
    return Status(
        block=Block(*row) if row else None,
        loader=LoaderState.objects.values().first(),
        running=running,
        now=clock.now_ns(),
        skipped_transaction=json.loads(skipped_transactions),
        archive_failure=missing,
        upgrade=remaining.read(),
        standby=standby,
        loaded=loaded_ranges.read(),
        difference=difference or "",
    )


# WORDS


def slow_clock(ahead: int) -> str:
    """Return what is wrong with this machine's clock if the last block is so many seconds ahead of it."""
    if ahead <= _CLOCK_SECONDS:
        return ""
    return (
        f"The clock of this machine is at least {duration(ahead)} behind that of the network, whose last "
        "block is later than now: set it, for example by NTP."
    )


def _cause_clause(problem: Mapping[str, Any]) -> str:
    """Return a problem as the end of a sentence, with the file and the place in it, and the cure."""
    position = ", ".join(part for part in (problem["file"], problem["position"]) if part)
    cause = f" at {position}: {problem['cause']}" if position else f": {problem['cause']}"
    return " ".join(f"{part.rstrip('.')}." for part in (cause, problem["cure"]) if part)


def process_of(loader: Mapping[str, Any]) -> str:
    return f"process {loader.get('process')} on {loader.get('host')}"


def _text(time: datetime) -> str:
    return timestamp.text(round(time.timestamp() * NANOS_PER_SECOND))


def code_html(text: str) -> SafeString:
    """Return text as HTML; what is between backticks is a command or a name."""
    return mark_safe(re.sub(r"`([^`]+)`", r"<code>\1</code>", escape(text)))
