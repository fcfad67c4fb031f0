"""`manage.py errata`: what the stream of mainnet lacks, and what it has too much."""

from typing import Any

from mirror.core.db.reading import timeouts
from mirror.management.command import NodeCommand, argument
from mirror.upgrade.tables import check_current


class Command(NodeCommand):
    database = "existing"
    writes = True
    help = (
        "Apply the errata of mainnet to what is loaded, from a folder. They are transactions that its stream "
        "lacks, accounts from before its first file, transfers that did not happen, and offsets of balance "
        "files. It may be run again at any time, and changes only what is left to change."
    )
    when = (
        "Use it after loading mainnet's history of 2019 and later, and again when more of it is loaded. The "
        "folder has files that you name; none is part of this program."
    )
    examples = (("errata /data/errata", "Applies the files of that folder, and says what is still missing."),)

    arguments = (
        argument(
            "folder FOLDER", "a folder with *.bin or *.pb, accounts.txt, contracts.txt, balance_offsets.txt"
        ),
    )

    def handle(self, *args: Any, **options: Any) -> None:
        # Only this command needs it.
        from ledger.errata import EXPECTED, applying

        timeouts.use(timeouts.LOADER)
        check_current()
        for count in applying.apply(options["folder"], self.echo):
            known = EXPECTED.get(count.part)
            of = f" of {known:,}" if known is not None else ""
            missing = f"; {known - count.loaded:,} are missing" if known and known > count.loaded else ""
            if missing and count.outside:
                missing += f", {count.outside:,} of them outside of what is loaded"
            self.echo(f"{count.part.capitalize()}: {count.loaded:,}{of}, {count.added:,} new{missing}.")
