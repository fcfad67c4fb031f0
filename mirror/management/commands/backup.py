"""`manage.py backup`: write a consistent copy of the database into a folder."""

import os
from pathlib import Path
from typing import Any

from mirror.core.db.distribution import check_single
from mirror.core.processes import signals
from mirror.core.values.human_readable import byte_size
from mirror.management.command import Database, NodeCommand, argument, integer
from mirror.operations.backup.manifest import Manifest
from mirror.upgrade.tables import check_current

JOBS = argument(
    "--jobs N",
    "how many files to work on at a time; by default as many as there are processors, at most 4",
    type=integer(1, 99, "a whole number from 1 to 99"),
    default=min(os.cpu_count() or 1, 4),
)


class Command(NodeCommand):
    database = "existing"
    outlasts_output = True
    help = (
        "Write everything in the database into a folder, while the node answers and loads. It is all of one "
        "point in time, and written by pg_dump. `manage.py restore` brings it back."
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

    def database_for(self, options: dict[str, Any]) -> Database:
        return "none" if options["check"] else self.database

    def handle(self, *args: Any, **options: Any) -> None:
        # Only this command needs it.
        from mirror.operations.backup import dump, load

        folder: Path = options["folder"]
        stopping = signals.stop_event()
        if options["check"]:
            manifest = load.check(folder, self.echo, stopping, jobs=options["jobs"])
            self.echo(f"The backup is intact: {described(manifest)}.")
            return
        check_single("backup", "back up each machine by PostgreSQL's own means, such as pg_basebackup")
        check_current()
        manifest = dump.backup(folder, self.echo, stopping, jobs=options["jobs"])
        self.echo(f"Done: {described(manifest)}.")


def described(manifest: Manifest) -> str:
    block = f"up to block {manifest.block.number:,}" if manifest.block else "without any block"
    return (
        f"{manifest.rows:,} rows of the network {manifest.network} {block}, in "
        f"{len(manifest.all_files):,} files of {byte_size(manifest.bytes)}, "
        f"made at {manifest.made} by release {manifest.release}"
    )
