"""`manage.py demo`: writes the stream of a simulated network, signed files as a real one publishes them."""

import time
from argparse import ArgumentParser, ArgumentTypeError
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from ledger.stream.demo.history import History
from ledger.stream.demo.nodes import nodes
from mirror import demo
from mirror.management.display import shown
from mirror.values import transaction_types
from mirror.values.hapi import TransactionBody

_BLOCKS, _TPS, _SEED = 400, 25, 1
_FIELDS = TransactionBody.DESCRIPTOR.fields_by_name


@dataclass
class Made:
    """How far the making has come."""

    files: int = 0
    skipped: int = 0
    transactions: int = 0


class Command(BaseCommand):
    help = (
        "Write the record stream of a simulated network into a folder, laid out as a bucket: record files, "
        "sidecars, signature files of four nodes and the first address book. It performs transactions of "
        "every type; the same seed gives the same files."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new or an empty folder")
        parser.add_argument("--blocks", type=_count, default=_BLOCKS, help="how many (default %(default)s)")
        parser.add_argument(
            "--tps",
            type=_positive,
            default=_TPS,
            help="transactions per second; a block is of two seconds (default %(default)s)",
        )
        parser.add_argument("--seed", type=int, default=_SEED, help="a whole number (default %(default)s)")
        parser.add_argument(
            "--hours",
            type=_positive,
            default=0,
            help="spread the blocks over so many hours; without it each follows right after the one before",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["out"]
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise CommandError(f"{folder} is not empty: name a new folder by --out.", returncode=2)
        history = History(options["blocks"], options["tps"], options["seed"], options["hours"])
        began, counts, made = time.monotonic(), Counter[str](), Made()
        with shown("Making", history.blocks, self.stdout.write) as display:
            for network, block in history.play(nodes()):
                block.write(folder, network=demo.NETWORK)
                made.files, made.transactions, counts = (
                    block.number + 1,
                    network.counts.total(),
                    network.counts,
                )
                display.show(made)
        book = folder / demo.ADDRESS_BOOK_FILE
        book.write_bytes(demo.first_book())
        for kind, count in sorted(counts.items(), key=lambda item: -item[1]):
            self.stdout.write(f"{count:10,} {transaction_types.name(_FIELDS[kind].number)}")
        self.stdout.write(
            f"Made {made.files:,} blocks with {made.transactions:,} transactions in {folder} "
            f"in {time.monotonic() - began:.1f} s.\nLoad them into an empty node of their own: "
            f"SVC_MIRROR_NETWORK=simulated SVC_MIRROR_DATA=data/simulated "
            f"SVC_MIRROR_IMPORTER_INITIALADDRESSBOOK={book} manage.py ingest {folder}"
        )


def _count(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _positive(text: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0 < number < 1_000_000:
        raise ArgumentTypeError(f"{text!r} is not a number above 0")
    return number
