"""`manage.py snapshot`: what a node knows of the ledger at a block, for any other node."""

from argparse import ArgumentParser, ArgumentTypeError
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from mirror.core import config
from mirror.core.processes import signals
from mirror.core.values import entity_id
from mirror.management.command import NodeCommand
from mirror.management.commands.backup import add_jobs, described
from mirror.node.start.tables import check_current
from mirror.operations.backup.manifest import SNAPSHOT
from mirror.operations.backup.sessions import Stopped


class Command(NodeCommand):
    help = (
        "Write what the node knows of the ledger into a folder, or load it into another node. That one "
        "then goes on with the stream. Accounts of the admin, settings and other things of a node are "
        "not in it. Repeated after an interruption the command goes on."
    )
    when = "Use it to make a node without loading all of history, of the same release or a newer one."
    examples = (
        ("snapshot save /snapshots/june", "Writes what the node knows of the ledger into that folder."),
        (
            "snapshot save /snapshots/mine --entities 0.0.1001,0.0.1002",
            "Writes only what these took part in.",
        ),
        ("snapshot check /snapshots/june", "Reads it again and compares it with its checksums."),
        ("snapshot load /snapshots/june", "Fills the empty database of SVC_MIRROR_DATA or DATABASE_URL."),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("action", choices=("save", "load", "check"), help="what to do with the folder")
        parser.add_argument("folder", type=Path, metavar="FOLDER", help="to save, a new or empty folder")
        parser.add_argument(
            "--entities",
            type=_entities,
            default=frozenset(),
            metavar="IDS",
            help="save only what these accounts, contracts, tokens and topics took part in, their state, and "
            "what explains that, such as blocks and address books",
        )
        add_jobs(parser)

    def handle(self, *args: Any, **options: Any) -> None:
        # Only this command needs it.
        from mirror.operations.backup import restore
        from mirror.operations.snapshot import dump

        folder, action, jobs = options["folder"], options["action"], options["jobs"]
        stopping, say = signals.stop_event(), self.stdout.write
        if options["entities"] and action != "save":
            raise CommandError("--entities goes with `snapshot save`.", returncode=2)
        try:
            if action == "check":
                done = restore.check(folder, say, stopping, jobs=jobs, kind=SNAPSHOT)
                self.stdout.write(f"The snapshot is intact: {described(done)}.")
                return
            if action == "save":
                check_current()
                done = dump.save(folder, say, stopping, jobs=jobs, entities=options["entities"])
                self.stdout.write(f"Done: {described(done)}.")
                return
            done = restore.restore(folder, say, stopping, jobs=jobs, kind=SNAPSHOT)
        except Stopped:
            raise CommandError("Stopped as asked: the same command goes on from here.") from None
        self.stdout.write(
            f"Done: {described(done)}. `manage.py ingest --follow` and `manage.py up` go on with the stream."
        )


def _entities(text: str) -> frozenset[int]:
    shard, realm = config.value("common.shard"), config.value("common.realm")
    try:
        return frozenset(entity_id.parse(each.strip(), shard, realm) for each in text.split(","))
    except entity_id.InvalidEntityId as error:
        raise ArgumentTypeError(f"{error}.") from None
