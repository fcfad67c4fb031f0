"""`manage.py verify`: check that files are intact and signed, and compare the database with them."""

import signal
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ledger.ingest import filters
from ledger.ingest.named_ranges import in_range, time_of
from ledger.ingest.trusted_nodes import Quorums
from ledger.ingest.verification import Checked, Verification
from ledger.stream.errors import StreamFileError
from ledger.stream.source.local import find_record_files
from mirror.core import config
from mirror.core.processes.progress import FileDisplay
from mirror.management.command import SPAN, NodeCommand, UsageError, argument
from mirror.upgrade.tables import check_current
from network import bundled


class Command(NodeCommand):
    database = "existing"
    help = (
        "Compare the database with the files that it was loaded from. It also checks that the files are "
        "intact, signed and in unbroken order. Nothing is changed. Each difference is one line: file, "
        "transaction, table and column. The exit code is 1 if there is any, or if files in a gap or after "
        "the last loaded one are not loaded."
    )
    when = (
        "Use it when you doubt an answer, after a disk failed, or after somebody changed the database. Set "
        "the settings that the files were loaded with."
    )
    examples = (
        ("verify /data/streams", "All files of a folder."),
        ("verify /data/streams --from 1000 --to 1999", "A thousand blocks."),
        ("verify /data/streams --from 2024-06-01 --to 2024-06-02T12:00:00Z", "A day and a half."),
    )
    arguments = (
        argument("paths PATH", "a folder or a file", nargs="+", type=Path),
        *SPAN,
        argument("--without-signatures", "verify everything except signatures"),
        argument("--filter KEEP", "the --filter the files were loaded with: only these transactions are in "
                 "the database", action="append", default=[]),
    )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        chosen = list(map(filters.parse_option, options["filter"]))
        with config.overridden({"importer.parser.include": filters.setting(chosen)} if chosen else {}):
            self._verify(options)

    def _verify(self, options: dict[str, Any]) -> None:
        try:
            files = find_record_files(options["paths"])
            start = time_of(options["start"]) if options["start"] else None
            end = time_of(options["end"], end=True) if options["end"] else None
            chosen = in_range(files, start, end)
        except StreamFileError as error:
            raise UsageError(str(error)) from error
        if not chosen:
            raise UsageError(
                "There is no record file or block in the given folders"
                + (" of that range." if files else ".")
            )
        check_current()
        quorums = None if options["without_signatures"] else Quorums(bundled.demo_address_book(files))
        with FileDisplay("Verifying", len(chosen), self.echo) as display:
            verification = Verification(
                quorums=quorums, found=lambda finding: display.echo(str(finding)), report=display.show
            )
            signal.signal(signal.SIGTERM, lambda *_: verification.stop())
            signal.signal(signal.SIGINT, lambda *_: verification.stop())
            checked = verification.run(chosen)
        self._summarize(checked, len(chosen))

    def _summarize(self, checked: Checked, total: int) -> None:
        for span in checked.not_loaded:
            self.echo(f"Not loaded, so not compared: {span}.")
        sentence = f"{checked.files:,} files with {checked.transactions:,} transactions"
        if checked.files < total:
            sentence += f" (stopped as asked, {total - checked.files:,} are left)"
        signed = (
            f"all {checked.signed:,} signed"
            if checked.signed == checked.files
            else f"{checked.signed:,} of them published with signatures"
        )
        outside = sum(span.files for span in checked.not_loaded)
        if outside:
            sentence += f", of which {outside:,} {'is' if outside == 1 else 'are'} not loaded"
        if checked.findings:
            raise CommandError(f"{checked.findings:,} differences in {sentence}, {signed}.")
        if lacking := checked.lacking:
            raise CommandError(
                f"{lacking:,} {'file lies' if lacking == 1 else 'files lie'} in a gap or after the last "
                f"loaded file. Nothing else is wrong with {sentence}, {signed}."
            )
        stored = "the others stored as they are" if outside else "stored as they are"
        self.echo(f"Nothing wrong with {sentence}, {signed}: intact, in order, and {stored}.")
