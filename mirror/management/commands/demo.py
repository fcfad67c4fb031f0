"""`manage.py demo`: write the stream of a simulated network, signed as a real network's files are."""

import shlex
import time
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from mirror.core.processes import signals
from mirror.core.processes.progress import FileDisplay
from mirror.core.values.hapi import transaction_types
from mirror.core.values.hapi.messages import TransactionBody
from mirror.demo import run
from mirror.demo.keys.nodes import nodes
from mirror.demo.publish.balances import BalanceWriter
from mirror.demo.publish.history import History
from mirror.demo.streams.record_files import Block
from mirror.management.command import NodeCommand
from network import bundled

_BLOCKS, _TPS, _SEED = 400, 25, 1
_MOST_TPS, _MOST_HOURS, _MOST_MINUTES = 10_000, 100_000, 100_000
_MOST_PORT = 65_535
_SETTINGS = f"SVC_MIRROR_NETWORK={bundled.SIMULATED} SVC_MIRROR_DATA=data/{bundled.SIMULATED}"
_INGEST = ".venv/bin/python manage.py ingest"
_FIELDS = TransactionBody.DESCRIPTOR.fields_by_name


@dataclass
class DemoProgress:
    """Progress in making the stream."""

    files: int = 0
    skipped: int = 0
    transactions: int = 0


class Command(NodeCommand):
    help = (
        "Write the files of a simulated network into a folder. It is laid out as a bucket: record files, "
        "sidecars, signature files of four nodes, and the first address book; or blocks with threshold "
        "signatures. The simulated people perform transactions of every type. The same options give the same "
        "files."
    )
    when = "Use it to test loading, or a program of your own. `manage.py up` does not need it."
    examples = (
        ("demo --out /tmp/streams", "400 blocks with about 20,000 transactions."),
        ("demo --out /tmp/streams --hours 6 --balances 15", "With balance files, for a start in the middle."),
        ("demo --out /tmp/streams --blocks-stream", "The same people, in blocks instead of record files."),
        ("demo --out /tmp/streams --blocks-from 200", "Goes over from record files to blocks at block 200."),
        ("demo --serve-blocks /tmp/streams --port 40840", "A block node with the blocks of a folder."),
        ("demo --out /tmp/streams --blocks 10000 --tps 500", "About ten million transactions."),
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--out", type=Path, metavar="DIR", help="a new or an empty folder")
        parser.add_argument(
            "--blocks", type=_whole(1), default=_BLOCKS, help="number of blocks (default %(default)s)"
        )
        parser.add_argument(
            "--tps",
            type=_up_to(_MOST_TPS),
            default=_TPS,
            help="transactions per second; a block is two seconds long (default %(default)s)",
        )
        parser.add_argument(
            "--seed", type=_whole(0), default=_SEED, help="a whole number from 0 on (default %(default)s)"
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
        parser.add_argument(
            "--blocks-stream",
            action="store_true",
            help="write blocks (HIP-1056) instead of record files, signed by all nodes together",
        )
        parser.add_argument(
            "--blocks-from",
            type=_whole(0),
            metavar="NUMBER",
            help="go over from record files to blocks at this one; with the value of --blocks, all are "
            "record files of the same history",
        )

        parser.add_argument(
            "--serve-blocks",
            type=Path,
            metavar="DIR",
            help="make nothing, but serve the blocks of a folder as a block node does, until Ctrl-C",
        )
        parser.add_argument(
            "--port",
            type=_whole(0, _MOST_PORT, f"a port, a whole number up to {_MOST_PORT}"),
            default=0,
            help="with --serve-blocks, the port of 127.0.0.1; by default any that is free, which is said",
        )

    def handle(self, *args: Any, **options: Any) -> None:
        if options["serve_blocks"]:
            # Imported here, as gRPC takes memory and time that the stream needs not.
            from mirror.demo.publish.serving import serve

            serve(self.stdout.write, options["serve_blocks"], options["port"], signals.stop_event())
            return
        folder: Path | None = options["out"]
        if folder is None:
            raise CommandError(
                "Name a folder for the stream by --out, or one with blocks by --serve-blocks.", returncode=2
            )
        blocks_from = _blocks_from(options)
        history = History(
            options["blocks"], options["tps"], options["seed"], options["hours"], blocks_from=blocks_from
        )
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
        began, made = time.monotonic(), DemoProgress()
        balances = BalanceWriter(folder, nodes(), minutes) if minutes else None
        write = _writer(folder, history.blocks_from)
        with FileDisplay("Making", history.blocks, self.stdout.write) as display:
            for network, block in history.play(nodes()):
                write(block)
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
            f"{_SETTINGS} {_INGEST} {shlex.quote(str(folder))}"
        )
        if history.blocks_from is not None:
            follows = "CUTOVER_ENABLED" if history.blocks_from else "ENABLED"
            self.stdout.write(
                "Or to follow them as those of a network:\n"
                f"{_SETTINGS} SVC_MIRROR_IMPORTER_BLOCK_{follows}=true {_INGEST} --follow "
                f"{shlex.quote(str(folder))}"
            )


def _blocks_from(options: dict[str, Any]) -> int | None:
    """Return the number of the first block that is no record file, None if all are. Errors: CommandError."""
    first: int | None = options["blocks_from"]
    if options["blocks_stream"]:
        if first:
            raise CommandError("Name either --blocks-stream or --blocks-from.", returncode=2)
        first = 0
    if first is not None and first > options["blocks"]:
        raise CommandError(
            f"--blocks-from: there are only {options['blocks']:,} blocks; --blocks makes more.", returncode=2
        )
    if first is not None and options["balances"]:
        raise CommandError(
            "--balances: networks that go over to blocks write no balance files. Leave it out, or write "
            "record files.",
            returncode=2,
        )
    return first


def _writer(folder: Path, blocks_from: int | None) -> Callable[[Block], object]:
    """Return a function that writes a block of a history, in its form."""
    if blocks_from is None:
        return lambda block: block.write(folder)
    # Imported here, as threshold signatures take long to import and record files have none.
    from mirror.demo.publish.blocks import BlockWriter

    return BlockWriter(folder, bundled.SIMULATED, blocks_from=blocks_from).write


def _whole(least: int, most: float = inf, what: str = "") -> Callable[[str], int]:
    def number(text: str) -> int:
        # Python reads no longer numbers.
        if not (text.isdecimal() and len(text) < 4_000 and least <= int(text) <= most):
            raise ArgumentTypeError(f"{text!r} is not {what or f'a whole number of at least {least}'}")
        return int(text)

    return number


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
