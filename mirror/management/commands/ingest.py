"""manage.py ingest PATH…: load record files from folders or one by one."""

import signal
import sys
import time
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeRemainingColumn

from ledger.ingest import pipeline
from ledger.ingest.errors import IngestError
from ledger.ingest.trust import Trust
from ledger.stream.errors import StreamFileError
from ledger.stream.source import find_record_files
from mirror.db.partitions import create_ahead
from mirror.db.server import at_hand
from mirror.node import make_tables
from network import bundled

SECONDS_BETWEEN_LINES = 5


class Command(BaseCommand):
    help = (
        "Load record files and blocks: folders (searched through, in any bucket layout) or single .rcd, "
        ".rcd.gz, .blk, .blk.gz and .blk.zstd files. Files loaded before are passed over, so running it "
        "again changes nothing. Where a folder holds signature files, a majority of the network's nodes has "
        "to have signed each record file; also where a block wraps one and its signatures."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a folder or a file")
        parser.add_argument(
            "--allow-gap",
            action="store_true",
            help="go on where the chain of hashes is broken: the files between are lost for good",
        )
        parser.add_argument(
            "--without-signatures",
            action="store_true",
            help="do not verify signatures; the chain of hashes alone then holds the files together",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            files = find_record_files(options["paths"])
        except StreamFileError as error:
            raise CommandError(str(error), returncode=2) from error
        if not files:
            raise CommandError(
                "There is no record file (*.rcd, *.rcd.gz) and no block (*.blk.gz, *.blk.zstd) in the given "
                "folders.",
                returncode=2,
            )
        began = time.monotonic()
        try:
            with at_hand(self.stdout.write), _shown(self, len(files)) as display:
                make_tables(self.stdout.write)
                create_ahead()
                loader = pipeline.Pipeline(
                    allow_gap=options["allow_gap"],
                    trust=None
                    if options["without_signatures"]
                    else Trust(bundled.public_demo_address_book()),
                    report=display.show,
                )
                signal.signal(signal.SIGTERM, lambda *_: loader.stop())
                signal.signal(signal.SIGINT, lambda *_: loader.stop())
                done = loader.run(files)
        except (StreamFileError, IngestError) as error:
            raise CommandError(str(error)) from error
        self.stdout.write(_summary(done, len(files), time.monotonic() - began))


def _summary(done: pipeline.Progress, total: int, seconds: float) -> str:
    if not done.files:
        return f"Nothing new: all {done.skipped:,} files were loaded before."
    rate = done.transactions / seconds if seconds else 0
    sentence = (
        f"Loaded {done.files:,} files with {done.transactions:,} transactions "
        f"in {seconds:.1f} s ({rate:,.0f} transactions per second)"
    )
    if done.skipped:
        sentence += f"; {done.skipped:,} were loaded before"
    if done.files + done.skipped < total:
        sentence += f"; stopped as asked, {total - done.files - done.skipped:,} files are left"
    return f"{sentence}. {_proof(done)}"


def _proof(done: pipeline.Progress) -> str:
    verified = f"{done.verified:,} files were verified by signatures of {len(done.signed_by)} nodes"
    unsigned = "held together by the chain of hashes alone"
    if not done.verified:
        return f"They are unsigned: {unsigned}."
    if done.verified == done.files:
        return f"All {verified}."
    return f"{verified}; {done.files - done.verified:,} are unsigned: {unsigned}."


class _Lines:
    """Progress where no terminal shows a bar: a line every few seconds."""

    def __init__(self, command: BaseCommand, total: int) -> None:
        self._command, self._total = command, total
        self._began = self._last = time.monotonic()

    def __enter__(self) -> "_Lines":
        return self

    def __exit__(self, *exception: object) -> None:
        pass

    def show(self, done: pipeline.Progress) -> None:
        now = time.monotonic()
        if now - self._last < SECONDS_BETWEEN_LINES:
            return
        self._last = now
        taken, rate = done.files + done.skipped, done.transactions / (now - self._began)
        left = (now - self._began) / taken * (self._total - taken) if taken else 0
        self._command.stdout.write(
            f"{taken:,} of {self._total:,} files, {done.transactions:,} transactions, "
            f"{rate:,.0f} per second, about {left:,.0f} s left"
        )


class _Bar:
    """Progress on a terminal."""

    def __init__(self, total: int) -> None:
        self._progress = Progress(
            TextColumn("Loading"),
            BarColumn(),
            TextColumn("{task.completed:,.0f} of {task.total:,.0f} files"),
            TextColumn("{task.fields[rate]:,.0f} transactions/s"),
            TimeRemainingColumn(),
        )
        self._total, self._began = total, time.monotonic()
        self._task: TaskID | None = None

    def __enter__(self) -> "_Bar":
        self._progress.start()
        self._task = self._progress.add_task("files", total=self._total, rate=0.0)
        return self

    def __exit__(self, *exception: object) -> None:
        self._progress.stop()

    def show(self, done: pipeline.Progress) -> None:
        assert self._task is not None
        rate = done.transactions / (time.monotonic() - self._began)
        self._progress.update(self._task, completed=done.files + done.skipped, rate=rate)


def _shown(command: BaseCommand, total: int) -> "_Bar | _Lines":
    return _Bar(total) if sys.stdout.isatty() else _Lines(command, total)
