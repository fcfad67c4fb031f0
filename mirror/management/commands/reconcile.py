"""`manage.py reconcile`: compare this node's balances with the balance files of the network."""

from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ledger.ingest.balances.reconciliation import NotComparable, Outcome, reconcile
from ledger.ingest.errors import IngestError
from ledger.ingest.trust import Trust
from ledger.stream.balance.files import find_balance_files
from ledger.stream.errors import StreamFileError
from mirror.db import timeouts
from mirror.management.command import NodeCommand
from mirror.node.tables import check_current


class Command(NodeCommand):
    help = (
        "Compare this node's balances of hbars and tokens with the balance files that its network has "
        "published. The files are verified by the signatures of the nodes. Each difference is kept as a row "
        "of the table balance_difference. The exit code is 1 if there is any."
    )
    when = (
        "Use it to prove that nothing is missing: after a start in the middle, a backfill, or when you doubt "
        "a balance. It may run while the node is loading."
    )
    examples = (
        ("reconcile /data/streams", "All balance files of a folder and of those below it."),
        ("reconcile 2021-03-10T22_12_56.075092Z_Balances.pb.gz", "A single file."),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("paths", nargs="+", type=Path, metavar="PATH", help="a folder or a file")
        parser.add_argument(
            "--without-signatures", action="store_true", help="do not verify the signatures of the files"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        for path in options["paths"]:
            if not path.exists():
                raise CommandError(f"{path} does not exist.", returncode=2)
        try:
            files = find_balance_files(options["paths"])
        except StreamFileError as error:
            raise CommandError(str(error), returncode=2) from error
        if not files:
            raise CommandError(
                "There is no balance file (*_Balances.csv, *_Balances.pb.gz) in the given folders.",
                returncode=2,
            )
        check_current()
        timeouts.use(timeouts.LOADER)
        trust = None if options["without_signatures"] else Trust()
        compared = different = 0
        for each in files:
            try:
                file, _ = each.read(trust.quorum_at(each.instant) if trust else None)
                found = reconcile(file)
            except NotComparable as problem:
                self.stdout.write(f"Not compared: {problem}")
                continue
            except (StreamFileError, IngestError) as error:
                raise CommandError(str(error)) from error
            self.stdout.write(found.sentence)
            compared += 1
            different += found.outcome is not Outcome.EQUAL
        if different:
            raise CommandError(
                f"{different:,} of {compared:,} balance files differ from this node: see the table "
                "balance_difference."
            )
        self.stdout.write(f"{compared:,} of {len(files):,} balance files were compared, and none differs.")
