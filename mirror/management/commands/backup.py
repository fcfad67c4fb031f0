"""`manage.py backup`: write a consistent copy of the database into a folder."""

import os
import re
from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from mirror.core.db.distribution import check_single
from mirror.core.processes import signals
from mirror.core.values.human_readable import byte_size
from mirror.management.command import NodeCommand
from mirror.node.start.tables import check_current
from mirror.operations.backup.manifest import Manifest
from mirror.operations.backup.sessions import Stopped


class Command(NodeCommand):
    help = (
        "Write everything in the database into a folder, while the node answers and loads. It is all of one "
        "moment. Repeated after an interruption the command goes on. `manage.py restore` brings it back."
    )
    when = "Use it before an upgrade, and as often as you would not like to load what came since again."
    examples = (
        ("backup /backups/monday", "Writes a backup into that folder."),
        ("backup --check /backups/monday", "Reads it again and compares it with its checksums."),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="a new or empty folder")
        parser.add_argument(
            "--check",
            action="store_true",
            help="write nothing: read the backup in the folder, and compare it with its checksums",
        )
        add_jobs(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        # Only this command needs it.
        from mirror.operations.backup import dump, restore

        folder: Path = options["folder"]
        stopping = signals.stop_event()
        try:
            if options["check"]:
                done = restore.check(folder, self.stdout.write, stopping, jobs=options["jobs"])
                self.stdout.write(f"The backup is intact: {described(done)}.")
                return
            check_single("backup", "back up each machine by PostgreSQL's own means, such as pg_basebackup")
            check_current()
            done = dump.backup(folder, self.stdout.write, stopping, jobs=options["jobs"])
        except Stopped:
            raise CommandError("Stopped as asked: the same command goes on from here.") from None
        self.stdout.write(f"Done: {described(done)}.")


def add_jobs(parser: ArgumentParser) -> None:
    """Add the option --jobs."""
    parser.add_argument(
        "--jobs",
        type=_number,
        metavar="N",
        default=min(os.cpu_count() or 1, 4),
        help="how many files to work on at a time; by default as many as there are processors, at most 4",
    )


def _number(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]?", text):
        raise ArgumentTypeError(f"{text!r} is not a whole number from 1 to 99.")
    return int(text)


def described(done: Manifest) -> str:
    """Return what a backup holds, in words."""
    block = f"up to block {done.block.number:,}" if done.block else "without any block"
    return (
        f"{done.rows:,} rows of the network {done.network} {block}, in {len(done.all_files):,} files of "
        f"{byte_size(done.bytes)}, made at {done.made} by release {done.release}"
    )
