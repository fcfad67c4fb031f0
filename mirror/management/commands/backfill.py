"""`manage.py backfill`: load the history before, or between, what is loaded."""

import time
from contextlib import ExitStack
from typing import Any

from ledger.stream.errors import StreamFileError
from mirror.core.db.distribution import check_single
from mirror.core.db.reading import timeouts
from mirror.core.metrics import files as counts
from mirror.core.processes import signals
from mirror.core.processes.progress import FileDisplay
from mirror.management.command import NodeCommand, UsageError, argument
from mirror.node.start import database
from mirror.node.start.tables import make_tables
from mirror.operations.history import backfill, state
from mirror.operations.history import plan as plans
from mirror.operations.history.plan import GENESIS, HEAD
from mirror.operations.history.source import Folder, Source, open_source


class Command(NodeCommand):
    help = (
        "Load history from before what is loaded, or from a gap in it, while the node answers and loads. The "
        "result is that of loading everything in order: balances, entities and tokens have their whole "
        "history. It may be stopped at any time; the same command goes on where it was."
    )
    when = (
        "Use it on a node that began in the middle, once it has its newest part. What the node has loaded is "
        "loaded once more, after what comes before, into tables of its own: the source needs these files, "
        "too, and the disk room for both. In the end the tables change places in a moment."
    )
    examples = (
        ("backfill genesis head /data/streams --jobs 4", "Loads all that is missing up to the newest part."),
        ("backfill 2024-01-01T00:00:00Z head", "Begins with that time, from the bucket of the settings."),
        ("backfill --discard", "Drops what an unfinished backfill has loaded."),
    )
    arguments = (
        argument("start FROM", f"a time such as 2024-06-01T00:00:00Z, or `{GENESIS}`", nargs="?"),
        argument("end TO", f"a time, or `{HEAD}` for where the loaded part begins", nargs="?"),
        argument("source SOURCE", "a folder, s3://bucket, gs://bucket or https://host/path; by default the "
                 "bucket of the settings importer.downloader.*", nargs="?", default=""),
        argument("--jobs N", "processes that verify and read files of a folder, beside the one that loads "
                 "(default 1: that one alone)", type=int, default=1),
        argument("--without-signatures", "do not verify the signatures of files of a folder, such as those "
                 "that the node has loaded without"),
        argument("--discard", "drop what an unfinished backfill has loaded"),
    )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        timeouts.use(timeouts.LOADER)
        if options["discard"]:
            if options["start"]:
                raise UsageError("--discard goes alone.")
            with database.ready(self.echo, make=False):
                backfill.discard()
            self.echo("What the backfill had loaded is dropped. The node has what it had before.")
            return
        if not options["end"]:
            raise UsageError(
                "Name from when to when, such as `manage.py backfill genesis head /data/streams`."
            )
        if options["jobs"] < 1:
            raise UsageError("--jobs is a whole number of at least 1.")
        check_single("backfill", "load all of history in order, or into a single one, and distribute that")
        plan = plans.parse(options["start"], options["end"], options["source"])
        try:
            source = open_source(plan.source, signed=not options["without_signatures"])
        except StreamFileError as error:
            raise UsageError(str(error)) from error
        self._backfill(plan, source, options["jobs"])

    def _backfill(self, plan: plans.Plan, source: Source, jobs: int) -> None:
        began = time.monotonic()
        with ExitStack() as stack:
            readers = None
            if jobs > 1 and isinstance(source, Folder):
                # Before anything starts a thread, and with the tables that they have to look into.
                readers = stack.enter_context(backfill.readers(jobs))
            server = stack.enter_context(database.ready(self.echo, make=False))
            counts.start_writing("backfill")
            make_tables(self.echo)
            backfill.check()
            if plans.stored() is None and plans.is_loaded(plan):
                self.echo("All of it is loaded already, in order: there is nothing to backfill.")
                return
            backfill.prepare(plan, source)
            self.echo(state.sentence(plan, source))
            if jobs > 1 and readers is None:
                self.echo("One process reads the files of a bucket: --jobs is without effect.")
            work = backfill.Run(
                plan,
                source,
                self.echo,
                lambda total: FileDisplay("Backfilling", total, self.echo),
                signals.stop_event(),
                readers,
            )
            is_done = backfill.run(work, server)
        loaded = f"{work.progress.files:,} files with {work.progress.transactions:,} transactions"
        seconds = time.monotonic() - began
        if is_done:
            self.echo(f"Backfilled in {seconds:.1f} s: {loaded}. The history is in place.")
        else:
            self.echo(
                f"Stopped after {seconds:.1f} s and {loaded}. The node has what it had before; the same "
                "command goes on, and `manage.py backfill --discard` gives the disk back."
            )
