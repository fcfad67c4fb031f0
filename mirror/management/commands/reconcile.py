"""`manage.py reconcile`: compare this node's balances with the balance files of the network."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ledger.ingest.balances.reconciliation import NotComparable, Outcome, compare_newest, reconcile
from ledger.ingest.following.configured_bucket import open_balance_download
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.errors import StreamFileError
from ledger.stream.source.balance_files import find_balance_files
from mirror.core.db.reading import timeouts
from mirror.management.command import NodeCommand, UsageError, argument
from mirror.upgrade.tables import check_current


class Command(NodeCommand):
    database = "existing"
    writes = True
    help = (
        "Compare this node's balances of hbars and tokens with the balance files of its network. The files "
        "are verified by the signatures of the nodes. Each difference is kept as a row of the table "
        "balance_difference. The exit code is 1 if there is any."
    )
    when = (
        "Use it to prove that nothing is missing: after a start in the middle, or when you doubt a "
        "balance. It may run while the node is loading."
    )
    examples = (
        ("reconcile /data/streams", "All balance files of a folder and of those below it."),
        ("reconcile 2021-03-10T22_12_56.075092Z_Balances.pb.gz", "A single file."),
        ("reconcile", "The newest file in the bucket of the settings that the loaded blocks have reached."),
        ("reconcile s3://bucket", "That of another bucket."),
    )
    arguments = (
        argument("paths PATH", "folders or files; or s3://bucket, gs://bucket or https://host/path, by "
                 "default the bucket of the settings importer.downloader.*", nargs="*"),
        argument("--without-signatures", "do not verify the signatures of the files"),
    )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        timeouts.use(timeouts.LOADER)
        if not options["paths"] or any("://" in path for path in options["paths"]):
            if len(options["paths"]) > 1 or options["without_signatures"]:
                raise UsageError(
                    "A bucket stands alone, and its files are verified: leave out --without-signatures."
                )
            self._compare_newest("".join(options["paths"]))
        else:
            self._compare(list(map(Path, options["paths"])), signed=not options["without_signatures"])

    def _compare_newest(self, location: str) -> None:
        with closing(open_balance_download(location)) as download:
            check_current()
            try:
                found = compare_newest(download, Quorums(), force=True)
            except NotComparable as problem:
                raise CommandError(f"Not compared: {problem}") from problem
        if found is None:
            raise CommandError(
                f"There is no balance file of the last day that is loaded in {download.bucket.location}."
            )
        self.echo(found.sentence)
        if found.outcome is not Outcome.EQUAL:
            raise CommandError("The balances differ from this node: see the table balance_difference.")

    def _compare(self, paths: Sequence[Path], *, signed: bool) -> None:
        for path in paths:
            if not path.exists():
                raise UsageError(f"{path} does not exist.")
        try:
            files = find_balance_files(paths)
        except StreamFileError as error:
            raise UsageError(str(error)) from error
        if not files:
            raise UsageError(
                "There is no balance file (*_Balances.csv, *_Balances.pb.gz) in the given folders."
            )
        check_current()
        quorums = Quorums() if signed else None
        compared = different = 0
        for balance_file in files:
            try:
                file, _ = balance_file.read(quorums.quorum_at(balance_file.instant) if quorums else None)
                result = reconcile(file)
            except NotComparable as problem:
                self.echo(f"Not compared: {problem}")
                continue
            self.echo(result.sentence)
            compared += 1
            different += result.outcome is not Outcome.EQUAL
        if different:
            raise CommandError(
                f"{different:,} of {compared:,} balance files differ from this node: see the table "
                "balance_difference."
            )
        self.echo(f"{compared:,} of {len(files):,} balance files were compared, and none differs.")
