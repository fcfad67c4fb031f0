"""`manage.py backup`: everything in the database, as it is at one moment, in a folder."""

import os
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from mirror.node.backup.manifest import Manifest
from mirror.node.backup.work import Stopped
from mirror.node.tables import check_current
from mirror.processes import signals
from mirror.values.readable import byte_size


class Command(BaseCommand):
    help = (
        "Write everything in the database, as it is at one moment, into a folder, while the node answers and "
        "loads. Repeated after an interruption it goes on. `manage.py restore` brings it back."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="a new or empty folder")
        parser.add_argument(
            "--check",
            action="store_true",
            help="write nothing: read the backup in the folder, and compare it with its checksums",
        )
        add_jobs(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        # Only this command needs it.
        from mirror.node.backup import restoring, writing

        folder: Path = options["folder"]
        stopping = signals.stop_event()
        try:
            if options["check"]:
                done = restoring.check(folder, self.stdout.write, stopping, jobs=options["jobs"])
                self.stdout.write(f"The backup is intact: {described(done)}.")
                return
            check_current()
            done = writing.backup(folder, self.stdout.write, stopping, jobs=options["jobs"])
        except Stopped:
            raise CommandError("Stopped as asked: the same command goes on from here.") from None
        self.stdout.write(f"Done: {described(done)}.")


def add_jobs(parser: ArgumentParser) -> None:
    """Add the option --jobs."""
    parser.add_argument(
        "--jobs",
        type=int,
        choices=range(1, 33),
        metavar="N",
        default=min(os.cpu_count() or 1, 4),
        help="how many files to work on at a time; by default as many as there are processors, at most 4",
    )


def described(done: Manifest) -> str:
    """Return what a backup holds, in words."""
    block = f"up to block {done.block.number:,}" if done.block else "without any block"
    return (
        f"{done.rows:,} rows of the network {done.network} {block}, in {len(done.all_files):,} files of "
        f"{byte_size(done.bytes)}, made at {done.made} by release {done.release}"
    )
