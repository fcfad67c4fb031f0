"""`manage.py replay`: run loaded contract transactions again and compare the results with the records."""

import json
import os
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ledger.ingest.named_ranges import time_of
from mirror.core import config
from mirror.core.db.reading.sql import MAX_INT64
from mirror.core.processes.progress import Pace, time_left
from mirror.core.values import entity_id, timestamp
from mirror.management.command import SPAN, NodeCommand, UsageError, argument
from mirror.upgrade.tables import check_current
from web3sim.past import replay
from web3sim.past.comparison import Replayed
from web3sim.past.replay import Range, Totals
from web3sim.state.database import DatabaseUnavailable

_MAX_TEXT = 300


class Command(NodeCommand):
    database = "existing"
    help = (
        "Run loaded contract transactions again and compare the outcome with what the network recorded. That "
        "is: result, output or error, gas, logs, storage, created contracts. Nothing is changed. Each "
        "mismatch is one line; a table of the matches by contract and function follows. The exit code is 1 "
        "if any transaction does not match."
    )
    when = "Use it to see whether the contract calls of this node compute what the network does."
    examples = (
        ("replay --from 2024-06-01 --to 2024-06-02", "All contract transactions of two days."),
        ("replay --contract 0.0.1234", "All of one contract."),
    )
    arguments = (
        *SPAN,
        argument("--contract ID", "only transactions that called or created this contract"),
        argument("--save DIR", "write each mismatch into this folder as a test case"),
        argument("--engine", "the engine that runs the code (default %(default)s)",
                 choices=("pyevm", "pyevm-blocks"), default=config.value("web3.evm.engine")),
        argument("--processes", "how many processes run transactions (default %(default)s)", type=int,
                 default=min(config.value("web3.workers"), os.cpu_count() or 1)),
    )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        if options["processes"] < 1:
            raise UsageError("--processes has to be at least 1.")
        check_current()
        try:
            self._replay(_range(options), options)
        except DatabaseUnavailable as error:
            raise CommandError(f"The database did not answer as it should: {error}.") from error

    def _replay(self, range: Range, options: dict[str, Any]) -> None:
        total = replay.count(range)
        if not total:
            raise UsageError("There is no contract transaction in that range.")
        if options["save"] is not None:
            options["save"].mkdir(parents=True, exist_ok=True)
        progress = _Progress(self.echo, total, options["save"])
        totals = replay.replay(range, options["engine"], options["processes"], progress.show)
        for line in _table(totals):
            self.echo(line)
        self._summarize(totals, progress.pace.seconds)

    def _summarize(self, totals: Totals, seconds: float) -> None:
        replayed, matching = totals.replayed.total(), totals.matching.total()
        if not replayed:
            total = totals.skipped.total()
            self.echo(f"None of {total:,} contract transactions could be replayed; the lines above say why.")
            return
        transactions = f"{replayed:,} replayed contract transactions"
        if skipped := totals.skipped.total():
            transactions += f" ({skipped:,} more could not be replayed)"
        if matching < replayed:
            raise CommandError(f"{replayed - matching:,} of {transactions} differ from what was recorded.")
        self.echo(f"All of {transactions} match what was recorded. It took {seconds:.1f} s.")


class _Progress:
    """Progress as lines, among them one for every mismatch, which is also saved if there is a folder."""

    def __init__(self, echo: Any, total: int, folder: Path | None) -> None:
        self._echo, self._total, self._folder = echo, total, folder
        self._done = self._different = 0
        self.pace = Pace()

    def show(self, replayed: Replayed) -> None:
        self._done += 1
        if replayed.differences:
            self._different += 1
            self._echo(_mismatch(replayed))
            self._save(replayed)
        if self.pace.is_due():
            seconds = self.pace.seconds
            self._echo(
                f"{self._done:,} of {self._total:,} contract transactions, {self._different:,} differ, "
                f"{self._done / seconds:,.0f} per second{time_left(self._done, self._total, seconds)}"
            )

    def _save(self, replayed: Replayed) -> None:
        if self._folder is not None and replayed.case is not None:
            file = self._folder / f"{timestamp.text(replayed.consensus_timestamp)}.json"
            file.write_text(json.dumps(replayed.case, indent=1) + "\n")


def _range(options: dict[str, Any]) -> Range:
    """Return the transactions to replay. Errors: CommandError; OperatorError for an invalid bound."""
    contract = None
    if options["contract"] is not None:
        try:
            contract = entity_id.parse(options["contract"], *config.shard_and_realm())
        except entity_id.InvalidEntityId:
            raise UsageError(
                f"{options['contract']!r} is not the id of a contract such as 0.0.1234."
            ) from None
    first = time_of(options["start"]) if options["start"] else 0
    last = time_of(options["end"], end=True) if options["end"] else MAX_INT64
    return Range(first, last, contract)


def _mismatch(replayed: Replayed) -> str:
    differences = "; ".join(_shortened(str(difference)) for difference in replayed.differences)
    time = timestamp.text(replayed.consensus_timestamp)
    return f"{time}: {replayed.contract} {replayed.function}: {differences}"


def _shortened(text: str) -> str:
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}…"


def _table(totals: Totals) -> list[str]:
    width = max((len(function) for _, function in totals.replayed), default=0)
    lines = [f"\n{'contract':<16}{'function':<{width}}  replayed     match"]
    for (contract, function), replayed in sorted(totals.replayed.items()):
        share = totals.matching[contract, function] / replayed
        lines.append(f"{contract:<16}{function:<{width}}  {replayed:>8,}  {share:>8.2%}")
    if totals.services:
        lines.append("\nfunctions of system contracts in those that match")
        lines += [f"{calls:>8,}  {function}" for function, calls in sorted(totals.services.items())]
        lines.append("")
    lines += [f"left out: {number:,}: {reason}" for reason, number in totals.skipped.most_common()]
    return [*lines, ""]
