"""`manage.py ingest`: load record files and blocks, from folders or as a network publishes them."""

import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from ledger.ingest import filters, pipeline
from ledger.ingest.estimate import Estimate, estimate
from ledger.ingest.following.configured_bucket import is_paid
from ledger.ingest.stages.reader_processes import readers_for
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.errors import StreamFileError
from ledger.stream.source.local import find_record_files
from mirror.core import config, metrics
from mirror.core.db.reading import timeouts
from mirror.core.processes import signals
from mirror.core.processes.progress import FileDisplay
from mirror.management.command import NodeCommand, UsageError, argument
from mirror.node.loading import estimate as estimates
from mirror.node.loading import following, start_point
from mirror.node.loading.files import import_files
from mirror.operations.retention import plan, pruning
from mirror.start import database
from mirror.upgrade import remaining
from mirror.upgrade.tables import make_tables
from network import bundled


class Command(NodeCommand):
    outlasts_output = True
    help = (
        "Load record files and blocks from folders, or from a network as it publishes them. Files that were "
        "loaded before are skipped, so it may be stopped and run again at any time."
    )
    when = (
        "Use it to load history, or to follow a network where `manage.py up` does not. Folders may have any "
        "bucket's layout; single files are .rcd, .rcd.gz, .blk, .blk.gz or .blk.zstd. Where signature files "
        "lie beside record files, and where a block wraps both, a quorum of the network's nodes must have "
        "signed each of them."
    )
    examples = (
        ("ingest /data/streams --estimate", "Says how much there is to load, and loads nothing."),
        ("ingest /data/streams", "Loads all files of the folder and of those below it."),
        ("ingest --follow", "Follows the bucket of the settings from the last loaded file on, until Ctrl-C."),
        (
            "ingest --follow s3://bucket --from 2024-06-01T00:00:00Z",
            "Follows another one, from that time on.",
        ),
    )
    arguments = (
        argument("paths PATH", "a folder or a file; with --follow the folder, s3://bucket, gs://bucket or "
                 "https://host/path to follow, by default the bucket of the settings importer.downloader.*",
                 nargs="*"),
        argument("--follow", "load a stream as nodes publish it, from the last loaded file on, until "
                 "stopped"),
        argument("--from TIME", "with --follow, begin with the first file from this time on, such as "
                 "2024-06-01T00:00:00Z; or at `now`, if nothing is loaded yet. If the network has published "
                 "its balances before that time, loading begins after them", dest="start", default=""),
        argument("--until TIME", "with --follow, end with the last file of this time", default=""),
        argument("--allow-gap", "go on where the hash chain is broken because files are lost for good"),
        argument("--without-signatures", "do not verify signatures; only the hash chain then holds the files "
                 "together"),
        argument("--filter KEEP", "store only some transactions, such as 'accounts=0.0.1001,0.0.1002 "
                 "types=CRYPTOTRANSFER' (accounts, tokens, topics, contracts, types); given several times, "
                 "one match is enough. Replaces importer.parser.include", action="append", default=[]),
        argument("--estimate", "load nothing: estimate from a sample how many files, bytes and rows there "
                 "would be, and what disk, time and money they take; with --follow, from the time --from "
                 "until now or --until"),
    )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        timeouts.use(timeouts.LOADER)
        # An invalid setting ends the command here, rather than the thread that prunes.
        plan.periods()
        chosen = list(map(filters.parse_option, options["filter"]))
        with config.overridden({"importer.parser.include": filters.setting(chosen)} if chosen else {}):
            if chosen:
                self.echo(filters.sentence(chosen))
            self._ingest(options)

    def _ingest(self, options: dict[str, Any]) -> None:
        if options["follow"]:
            self._follow(options)
            return
        if options["start"] or options["until"]:
            raise UsageError("--from and --until go with --follow.")
        if not options["paths"]:
            raise UsageError("Name folders or files to load, or use --follow.")
        try:
            files = find_record_files(map(Path, options["paths"]))
        except StreamFileError as error:
            raise UsageError(str(error)) from error
        if not files:
            raise UsageError(
                "There is no record file (*.rcd, *.rcd.gz) and no block (*.blk.gz, *.blk.zstd) in the given "
                "folders."
            )
        if options["estimate"]:
            self._estimate(estimate(files))
            return
        began = time.monotonic()
        with (
            ExitStack() as stack,
            # Before anything starts a thread: the readers are copies of this process.
            readers_for(sum(file.stored_bytes for file in files)) as readers,
            database.ready(self.echo) as server,
            FileDisplay("Loading", len(files), self.echo) as display,
        ):
            metrics.start("loader")
            make_tables(self.echo)
            remaining.report_pending(self.echo)
            book = None if options["without_signatures"] else bundled.demo_address_book(files)
            quorums = None if options["without_signatures"] else Quorums(book)
            chosen, balances = start_point.from_files(
                map(Path, options["paths"]), files, book, signed=quorums is not None, echo=self.echo
            )
            if balances and not config.value("importer.startDate"):
                # The address book of that time is the first one.
                since = {"importer.startDate": start_point.date_text(balances.last + 1)}
                stack.enter_context(config.overridden(since))
            source = " and ".join(options["paths"])
            load_options = pipeline.LoadOptions(
                quorums=quorums,
                readers=readers,
                allow_gap=options["allow_gap"],
                balances=balances,
                require_archive=True,
            )
            clock_check = following.ClockCheck(display.echo)

            def show(progress: pipeline.Progress) -> None:
                clock_check.check(progress)
                display.show(progress)

            progress = import_files(chosen, load_options, show, signals.stop_event(), server, source=source)
        self.echo(_summary(progress, len(chosen), time.monotonic() - began))

    def _estimate(self, expected: Estimate, *, paid: bool = False) -> None:
        for line in estimates.lines(expected, paid=paid):
            self.echo(line)

    def _follow(self, options: dict[str, Any]) -> None:
        if len(options["paths"]) > 1 or options["allow_gap"] or options["without_signatures"]:
            raise UsageError("--follow takes one location, and neither --allow-gap nor --without-signatures.")
        location = "".join(options["paths"])
        if options["estimate"]:
            expected = following.estimate(location, options["start"], options["until"])
            self._estimate(expected, paid=is_paid(location))
            return
        began = time.monotonic()
        with database.ready(self.echo) as server:
            metrics.start("loader")
            make_tables(self.echo)
            remaining.report_pending(self.echo)
            with pruning.in_thread(self.echo):
                span = {"start": options["start"], "until": options["until"]}
                progress = following.follow(self.echo, signals.stop_event(), location, **span, server=server)
        total = progress.files + progress.skipped
        self.echo(
            _summary(progress, total, time.monotonic() - began) if total else "Stopped: nothing was loaded."
        )


def _summary(progress: pipeline.Progress, total: int, seconds: float) -> str:
    if not progress.files:
        return f"Nothing new: all {progress.skipped:,} files were loaded before."
    rate = progress.transactions / seconds if seconds else 0
    sentence = (
        f"Loaded {progress.files:,} files with {progress.transactions:,} transactions "
        f"in {seconds:.1f} s ({rate:,.0f} transactions per second)"
    )
    if progress.skipped:
        sentence += f"; {progress.skipped:,} were loaded before"
    if progress.files + progress.skipped < total:
        sentence += f"; stopped as asked, {total - progress.files - progress.skipped:,} files are left"
    return f"{sentence}. {_proof(progress)}"


def _proof(progress: pipeline.Progress) -> str:
    by_nodes, nodes = progress.verified - progress.proved, len(progress.signed_by)
    verified = f"{progress.proved:,} blocks were verified by threshold signatures"
    if by_nodes:
        verified = f"{by_nodes:,} files were verified by signatures of {nodes} nodes"
    if by_nodes and progress.proved:
        verified += f" and {progress.proved:,} by threshold signatures"
    unsigned = "held together by the chain of hashes alone"
    if not progress.verified:
        return f"No signature was checked: they are {unsigned}."
    if progress.verified == progress.files:
        return f"All files: {verified}." if by_nodes and progress.proved else f"All {verified}."
    return f"{verified}; {progress.files - progress.verified:,} were not, and are {unsigned}."
