"""`manage.py demo`: write the stream of a simulated network, signed as a real network's files are."""

import shlex
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from mirror.demo import run
from mirror.demo.keys.nodes import nodes
from mirror.demo.publish.balances import BalanceWriter
from mirror.demo.publish.history import History
from mirror.management.command import NodeCommand
from mirror.processes.progress import shown
from mirror.values import transaction_types
from mirror.values.hapi import TransactionBody
from network import bundled

_BLOCKS, _TPS, _SEED = 400, 25, 1
_MOST_TPS, _MOST_HOURS, _MOST_MINUTES = 10_000, 100_000, 100_000
_FIELDS = TransactionBody.DESCRIPTOR.fields_by_name


@dataclass
class Made:
    """Progress in making the stream."""

    files: int = 0
    skipped: int = 0
    transactions: int = 0


class Command(NodeCommand):
    help = (
        "Write the files of a simulated network into a folder. It is laid out as a bucket: record files, "
        "sidecars, signature files of four nodes, and the first address book. The simulated people perform "
        "transactions of every type. The same options give the same files."
    )
    when = "Use it to test loading, or a program of your own. `manage.py up` does not need it."
    examples = (
        ("demo --out /tmp/streams", "400 blocks with about 20,000 transactions."),
        ("demo --out /tmp/streams --hours 6 --balances 15", "With balance files, for a start in the middle."),
        ("demo --out /tmp/streams --blocks 10000 --tps 500", "About ten million transactions."),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="a new or an empty folder")
        parser.add_argument(
            "--blocks", type=_count, default=_BLOCKS, help="number of blocks (default %(default)s)"
        )
        parser.add_argument(
            "--tps",
            type=_up_to(_MOST_TPS),
            default=_TPS,
            help="transactions per second; a block is two seconds long (default %(default)s)",
        )
        parser.add_argument(
            "--seed", type=_seed, default=_SEED, help="a whole number from 0 on (default %(default)s)"
        )
        parser.add_argument(
            "--hours",
            type=_up_to(_MOST_HOURS),
            default=0,
            help="spread the blocks over this many hours; by default each begins where the last one ends",
        )

        parser.add_argument(
            "--balances",
            type=_up_to(_MOST_MINUTES),
            default=0,
            metavar="MINUTES",
            help="also write a signed balance file every so many minutes of the network's time",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        folder: Path = options["out"]
        history = History(options["blocks"], options["tps"], options["seed"], options["hours"])
        try:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise CommandError(f"{folder} is not an empty folder: name a new one by --out.", returncode=2)
            self._make(history, folder, options["balances"])
        except OSError as error:
            raise CommandError(
                f"{error.filename or folder} can't be written ({error.strerror}): name a folder by --out "
                "that can be made, on a disk with room."
            ) from error

    def _make(self, history: History, folder: Path, minutes: float) -> None:
        began, made = time.monotonic(), Made()
        balances = BalanceWriter(folder, nodes(), minutes) if minutes else None
        with shown("Making", history.blocks, self.stdout.write) as display:
            for network, block in history.play(nodes()):
                block.write(folder)
                if balances:
                    balances.after(network.world, block)
                made.files, made.transactions = block.number + 1, network.counts.total()
                display.show(made)
        (folder / run.ADDRESS_BOOK_FILE).write_bytes(run.first_book())
        for kind, count in network.counts.most_common():
            self.stdout.write(f"{count:10,} {transaction_types.name(_FIELDS[kind].number)}")
        with_balances = f" and {balances.files:,} balance files" if balances else ""
        self.stdout.write(
            f"Made {made.transactions:,} transactions in {made.files:,} blocks{with_balances} below "
            f"{folder}, in {time.monotonic() - began:.1f} s. To load them into an empty node of their own:\n"
            f"SVC_MIRROR_NETWORK={bundled.SIMULATED} SVC_MIRROR_DATA=data/{bundled.SIMULATED} "
            f".venv/bin/python manage.py ingest {shlex.quote(str(folder))}"
        )


def _count(text: str) -> int:
    if not _is_whole(text) or int(text) < 1:
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 1")
    return int(text)


def _seed(text: str) -> int:
    if not _is_whole(text):
        raise ArgumentTypeError(f"{text!r} is not a whole number of at least 0")
    return int(text)


def _is_whole(text: str) -> bool:
    # Python reads no longer ones.
    return text.isdecimal() and len(text) < 4_000


def _up_to(most: int) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = 0
        if not 0 < value <= most:
            raise ArgumentTypeError(f"{text!r} is not a number above 0, of at most {most:,}")
        return value

    return number
