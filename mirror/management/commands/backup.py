"""`manage.py backup`: write a consistent copy of the database into a folder."""

import os
from pathlib import Path
from typing import Any

from mirror.core.db.distribution import check_single
from mirror.core.processes import signals
from mirror.core.values.human_readable import byte_size
from mirror.management.command import NodeCommand, argument, integer
from mirror.node.start.tables import check_current
from mirror.operations.backup.manifest import Manifest

JOBS = argument(
    "--jobs N",
    "how many files to work on at a time; by default as many as there are processors, at most 4",
    type=integer(1, 99, "a whole number from 1 to 99"),
    default=min(os.cpu_count() or 1, 4),
)


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
    arguments = (
        argument("folder FOLDER", "a new or empty folder"),
        argument(
            "--check", "write nothing: read the backup in the folder, and compare it with its checksums"
        ),
        JOBS,
    )

    def handle(self, *args: Any, **options: Any) -> None:
        # Only this command needs it.
        from mirror.operations.backup import dump, restore

        folder: Path = options["folder"]
        stopping = signals.stop_event()
        if options["check"]:
            done = restore.check(folder, self.echo, stopping, jobs=options["jobs"])
            self.echo(f"The backup is intact: {described(done)}.")
            return
        check_single("backup", "back up each machine by PostgreSQL's own means, such as pg_basebackup")
        check_current()
        done = dump.backup(folder, self.echo, stopping, jobs=options["jobs"])
        self.echo(f"Done: {described(done)}.")


def described(done: Manifest) -> str:
    block = f"up to block {done.block.number:,}" if done.block else "without any block"
    return (
        f"{done.rows:,} rows of the network {done.network} {block}, in {len(done.all_files):,} files of "
        f"{byte_size(done.bytes)}, made at {done.made} by release {done.release}"
    )
