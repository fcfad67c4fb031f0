"""`manage.py snapshot`: what a node knows of the ledger at a block, for any other node."""

from argparse import ArgumentTypeError
from typing import Any

from mirror.core import config
from mirror.core.processes import signals
from mirror.core.values import entity_id
from mirror.management.command import Database, NodeCommand, UsageError, argument
from mirror.management.commands.backup import JOBS, described
from mirror.operations.backup.manifest import SNAPSHOT
from mirror.upgrade.tables import check_current


def _entities(text: str) -> frozenset[int]:
    try:
        return frozenset(entity_id.parse(each.strip(), *config.shard_and_realm()) for each in text.split(","))
    except entity_id.InvalidEntityId as error:
        raise ArgumentTypeError(f"{error}.") from None


class Command(NodeCommand):
    help = (
        "Write what the node knows of the ledger into a folder, or load it into another node. That one "
        "then goes on with the stream. Accounts of the admin, settings and other things of a node are "
        "not in it."
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
    arguments = (
        argument("action", "what to do with the folder", choices=("save", "load", "check")),
        argument("folder FOLDER", "to save, a new or empty folder"),
        argument("--entities IDS", "save only what these accounts, contracts, tokens and topics took part "
                 "in, their state, and what explains that, such as blocks and address books", type=_entities,
                 default=frozenset()),
        JOBS,
    )  # fmt: skip

    def database_for(self, options: dict[str, Any]) -> Database:
        databases: dict[str, Database] = {"save": "existing", "load": "new", "check": "none"}
        return databases[options["action"]]

    def writes_for(self, options: dict[str, Any]) -> bool:
        return str(options["action"]) == "load"

    def handle(self, *args: Any, **options: Any) -> None:
        # Only this command needs it.
        from mirror.operations.backup import load
        from mirror.operations.snapshot import dump

        folder, action, jobs = options["folder"], options["action"], options["jobs"]
        stopping, echo = signals.stop_event(), self.echo
        if options["entities"] and action != "save":
            raise UsageError("--entities goes with `snapshot save`.")
        if action == "check":
            manifest = load.check(folder, echo, stopping, jobs=jobs, kind=SNAPSHOT)
            echo(f"The snapshot is intact: {described(manifest)}.")
            return
        if action == "save":
            check_current()
            manifest = dump.save(folder, echo, stopping, jobs=jobs, entities=options["entities"])
            echo(f"Done: {described(manifest)}.")
            return
        manifest = load.restore(folder, echo, stopping, jobs=jobs, kind=SNAPSHOT)
        echo(
            f"Done: {described(manifest)}. `manage.py ingest --follow` and "
            "`manage.py up` go on with the stream."
        )
