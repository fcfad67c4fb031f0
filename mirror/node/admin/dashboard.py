"""The charts and the recent errors of the admin's first page. Every statement reads a bounded number of rows.

Charts of the ledger end with the last block, so that they show something of a network that has stopped, too;
charts of the node end now.
"""

import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from mirror.core.config import clock
from mirror.core.db import statements
from mirror.core.processes import exits
from mirror.core.values import timestamp
from mirror.core.values.hapi import result_codes, transaction_types
from mirror.core.values.human_readable import duration
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.models import NodeMinute
from mirror.node.health import block_nodes
from mirror.node.health.status import Status

HOURS = 3
#: Types and failures are counted in so many of the latest transactions.
LATEST_TRANSACTIONS = 5000
# Blocks come every two seconds; those of a network that makes more of them fill a shorter time.
_MAX_BLOCKS, _POINTS = 10_000, 60
_MAX_TYPES = 8
_MAX_INCIDENTS, _DEATHS_SECONDS = 5, 7 * 86_400

# Index: the primary key (consensus_end).
_BLOCKS = """
    with block as (
        select consensus_end, count, consensus_end - lag(consensus_end) over (order by consensus_end) as since
        from (
            select consensus_end, count from record_file
            where consensus_end > %(first)s and consensus_end <= %(last)s
            order by consensus_end desc limit %(most)s) latest)
    select (%(last)s - consensus_end) / %(step)s as steps_ago, sum(count)::bigint, (avg(since) / 1e9)::float
    from block group by steps_ago"""
# Index: the primary key (consensus_timestamp).
_TYPES = """
    select type, count(*), count(*) filter (where result <> all(%s))
    from (select type, result from transaction order by consensus_timestamp desc limit %s) latest
    group by type order by count(*) desc"""


@dataclass(frozen=True)
class Chart:
    """A chart for Chart.js: its title, what it says in words, and its data."""

    title: str
    words: str
    kind: str
    labels: Sequence[str]
    lines: Sequence[tuple[str, Sequence[float | None]]]

    @property
    def data(self) -> str:
        colours = ("var(--color-primary-600)", "var(--chart-second)", "var(--chart-third)")
        style = {"borderWidth": 0 if self.kind == "bar" else 2, "pointRadius": 0, "spanGaps": False}
        datasets = [
            {"label": name, "data": values, "borderColor": colour, "backgroundColor": colour} | style
            for (name, values), colour in zip(self.lines, colours, strict=False)
        ]
        return json.dumps({"labels": self.labels, "datasets": datasets})


@dataclass(frozen=True)
class Incident:
    """An incident: when, what, and what is done about it."""

    when: str
    what: str
    then: str


def charts(status: Status) -> Iterator[Chart]:
    if status.block is not None:
        yield from _block_charts(status.block.consensus_end)
        yield from _transaction_chart()
    yield from _node_charts(following=bool(status.loader and status.loader["following"]))


def _block_charts(last: int) -> Iterator[Chart]:
    step = HOURS * 3600 // _POINTS * NANOS_PER_SECOND
    parameters = {"first": last - _POINTS * step, "last": last, "step": step, "most": _MAX_BLOCKS}
    rows = {ago: (count, seconds) for ago, count, seconds in statements.rows(_BLOCKS, parameters)}
    steps = range(max(rows), -1, -1)
    labels = [_time((last - steps_ago * step) / NANOS_PER_SECOND) for steps_ago in steps]
    rate = [round(rows.get(ago, (0, None))[0] * NANOS_PER_SECOND / step, 2) for ago in steps]
    every = [round(value, 2) if (value := rows.get(ago, (0, None))[1]) else None for ago in steps]
    until = f"{datetime.fromtimestamp(last / NANOS_PER_SECOND, UTC):%Y-%m-%d %H:%M} UTC"
    yield Chart(
        "Transactions per second",
        f"To the last block, {until}: {sum(rate) / len(rate):.1f} on average, {max(rate):.1f} at most.",
        "line",
        labels,
        [("Transactions per second", rate)],
    )
    known = [value for value in every if value is not None]
    words = "One block."
    if known:
        words = f"{sum(known) / len(known):.1f} s on average, {max(known):.1f} s at most."
    yield Chart("Time between blocks, in seconds", words, "line", labels, [("Seconds", every)])


def _transaction_chart() -> Iterator[Chart]:
    rows = statements.rows(_TYPES, [sorted(result_codes.SUCCESS), LATEST_TRANSACTIONS])
    if not rows:
        return
    total, failed = sum(count for _, count, _ in rows), sum(failures for *_, failures in rows)
    top_rows = rows[:_MAX_TYPES]
    yield Chart(
        "Types of transactions, and failures",
        f"Of the latest {_counted(total, 'transaction')}, {failed:,} failed ({failed / total:.1%}).",
        "bar",
        [transaction_types.name(number) for number, *_ in top_rows],
        [("All", [count for _, count, _ in top_rows]), ("Failed", [failures for *_, failures in top_rows])],
    )


def _node_charts(*, following: bool) -> Iterator[Chart]:
    since = datetime.fromtimestamp(clock.now_ns() // NANOS_PER_SECOND, UTC) - timedelta(hours=HOURS)
    # Index: the primary key (minute).
    minutes = list(NodeMinute.objects.filter(minute__gt=since).order_by("minute")[: HOURS * 60 + 1])
    if not minutes:
        return
    labels = [f"{minute.minute.astimezone(UTC):%H:%M}" for minute in minutes]

    def column(name: str) -> list[Any]:
        return [getattr(minute, name) for minute in minutes]

    requests, failures, refused = map(sum, map(column, ("requests", "failures", "refused")))
    yield Chart(
        "Requests of the API per minute",
        f"In {_counted(len(minutes), 'minute')}: {_counted(requests, 'request')}, {failures:,} failed, "
        f"{refused:,} {'was' if refused == 1 else 'were'} refused.",
        "line",
        labels,
        [("Requests", column("requests")), ("Failed", column("failures")), ("Refused", column("refused"))],
    )
    if slowest := max(value or 0 for value in column("p99_milliseconds")):
        yield Chart(
            "Time of an answer, in milliseconds",
            f"99 % of each minute's requests were answered in {slowest:,.0f} ms or less.",
            "line",
            labels,
            [
                ("Half of the requests", column("p50_milliseconds")),
                ("99 % of the requests", column("p99_milliseconds")),
            ],
        )
    lags = [lag for lag in column("lag_seconds") if lag is not None]
    if lags and following:
        yield Chart(
            "Seconds behind the clock",
            f"Now {duration(round(lags[-1]))}, at most {duration(round(max(lags)))}.",
            "line",
            labels,
            [("Seconds", column("lag_seconds"))],
        )


def incidents(status: Status) -> Iterator[Incident]:
    """Yield the loader's problem, block nodes set aside, deaths of processes, and skipped transactions."""
    if problem := status.problem:
        position = " ".join(part for part in (problem["file"], problem["position"]) if part)
        what = f"{position}: {problem['cause']}" if position else problem["cause"]
        yield Incident("now", what, problem["cure"] or "It is tried again and again.")
    for node, seconds in block_nodes.set_aside(status.block_source, status.now / NANOS_PER_SECOND):
        yield Incident(
            "now",
            f"The block node {node['name']} is set aside: {node['last_failure']}",
            f"In {duration(seconds)} it is asked again like the others.",
        )
    for death in islice(exits.recent(_DEATHS_SECONDS), _MAX_INCIDENTS):
        ago = duration(round(max(time.time() - death.at, 0)))
        yield Incident(f"{ago} ago", f"The {death.process} {death.why}", "It is started again.")
    for row in status.skipped_transaction[:_MAX_INCIDENTS]:
        name, at = transaction_types.name(row["type"]), timestamp.text(row["consensus_timestamp"])
        yield Incident(
            str(at),
            f"{name} in {row['file']} was passed over",
            "Only its hbar transfers are stored, as importer.parser.skip says.",
        )


def _counted(count: int, noun: str) -> str:
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def _time(seconds: float) -> str:
    return f"{datetime.fromtimestamp(seconds, UTC):%H:%M}"
