"""`manage.py demo`: write the stream of a simulated network, signed as a real network's files are."""

import shlex
import time
from argparse import ArgumentTypeError
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import CommandError

from ledger.ingest.pipeline import Progress
from mirror.core.processes import signals
from mirror.core.processes.progress import FileDisplay
from mirror.core.values.hapi import transaction_types
from mirror.core.values.hapi.messages import TransactionBody
from mirror.demo.publish import run
from mirror.demo.publish.history import BalanceWriter, BlockWriter, History
from mirror.demo.streams.keys import first_book, nodes
from mirror.demo.streams.record_files import Block
from mirror.management.command import NodeCommand, UsageError, argument, integer
from network import bundled

_BLOCKS, _TPS, _SEED = 400, 25, 1
_MAX_TPS, _MAX_HOURS, _MAX_MINUTES = 10_000, 100_000, 100_000
_MAX_PORT = 65_535
_SETTINGS = f"SVC_MIRROR_NETWORK={bundled.SIMULATED} SVC_MIRROR_DATA=data/{bundled.SIMULATED}"
_INGEST = ".venv/bin/python manage.py ingest"
_FIELDS = TransactionBody.DESCRIPTOR.fields_by_name


def _integer_up_to(high: int) -> Callable[[str], float]:
    def number(text: str) -> float:
        try:
            value = float(text)
        except ValueError:
            value = 0
        if not 0 < value <= high:
            raise ArgumentTypeError(f"{text!r} is not a number above 0, of at most {high:,}")
        return value

    return number


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
    arguments = (
        argument("--out DIR", "a new or an empty folder"),
        argument("--blocks", "number of blocks (default %(default)s)", type=integer(1), default=_BLOCKS),
        argument("--tps", "transactions per second; a block is two seconds long (default %(default)s)",
                 type=_integer_up_to(_MAX_TPS), default=_TPS),
        argument("--seed", "a whole number from 0 on (default %(default)s)", type=integer(0), default=_SEED),
        argument("--hours", "spread the blocks over this many hours; by default each begins where the last "
                 "one ends", type=_integer_up_to(_MAX_HOURS), default=0),
        argument("--balances MINUTES", "also write a signed balance file every so many minutes of the "
                 "network's time", type=_integer_up_to(_MAX_MINUTES), default=0),
        argument("--blocks-stream", "write blocks (HIP-1056) instead of record files, signed by all nodes "
                 "together"),
        argument("--blocks-from NUMBER", "go over from record files to blocks at this one; with the value of "
                 "--blocks, all are record files of the same history", type=integer(0)),
        argument("--serve-blocks DIR", "make nothing, but serve the blocks of a folder as a block node does, "
                 "until Ctrl-C"),
        argument("--port", "with --serve-blocks, the port of 127.0.0.1; by default any that is free, which "
                 "is said", type=integer(0, _MAX_PORT, f"a port, a whole number up to {_MAX_PORT}"),
                 default=0),
    )  # fmt: skip

    def handle(self, *args: Any, **options: Any) -> None:
        if options["serve_blocks"]:
            # Imported here, as gRPC takes memory and time that the stream needs not.
            from mirror.demo.publish.block_node import serve

            serve(self.echo, options["serve_blocks"], options["port"], signals.stop_event())
            return
        folder: Path | None = options["out"]
        if folder is None:
            raise UsageError("Name a folder for the stream by --out, or one with blocks by --serve-blocks.")
        blocks_from = _blocks_from(options)
        history = History(
            options["blocks"], options["tps"], options["seed"], options["hours"], blocks_from=blocks_from
        )
        try:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise UsageError(f"{folder} is not an empty folder: name a new one by --out.")
            self._make(history, folder, options["balances"])
        except OSError as error:
            raise CommandError(
                f"{error.filename or folder} can't be written ({error.strerror}): name a folder by --out "
                "that can be made, on a disk with room."
            ) from error

    def _make(self, history: History, folder: Path, minutes: float) -> None:
        began, progress = time.monotonic(), Progress()
        balances = BalanceWriter(folder, nodes(), minutes) if minutes else None
        write = _writer(folder, history.blocks_from)
        with FileDisplay("Making", history.blocks, self.echo) as display:
            for network, block in history.play(nodes()):
                write(block)
                if balances:
                    balances.after(network.world, block)
                progress.files, progress.transactions = block.number + 1, network.counts.total()
                display.show(progress)
        (folder / run.ADDRESS_BOOK_FILE).write_bytes(first_book())
        for kind, count in network.counts.most_common():
            self.echo(f"{count:10,} {transaction_types.name(_FIELDS[kind].number)}")
        with_balances = f" and {balances.files:,} balance files" if balances else ""
        self.echo(
            f"Made {progress.transactions:,} transactions in {progress.files:,} blocks{with_balances} below "
            f"{folder}, in {time.monotonic() - began:.1f} s. To load them into an empty node of their own:\n"
            f"{_SETTINGS} {_INGEST} {shlex.quote(str(folder))}"
        )
        if history.blocks_from is not None:
            follows = "CUTOVER_ENABLED" if history.blocks_from else "ENABLED"
            self.echo(
                "Or to follow them as those of a network:\n"
                f"{_SETTINGS} SVC_MIRROR_IMPORTER_BLOCK_{follows}=true {_INGEST} --follow "
                f"{shlex.quote(str(folder))}"
            )


def _blocks_from(options: dict[str, Any]) -> int | None:
    """Return the number of the first block that is no record file, None if all are. Errors: CommandError."""
    first: int | None = options["blocks_from"]
    if options["blocks_stream"]:
        if first:
            raise UsageError("Name either --blocks-stream or --blocks-from.")
        first = 0
    if first is not None and first > options["blocks"]:
        raise UsageError(f"--blocks-from: there are only {options['blocks']:,} blocks; --blocks makes more.")
    if first is not None and options["balances"]:
        raise UsageError(
            "--balances: networks that go over to blocks write no balance files. Leave it out, or write "
            "record files."
        )
    return first


def _writer(folder: Path, blocks_from: int | None) -> Callable[[Block], object]:
    """Return a function that writes a block of a history, in its form."""
    if blocks_from is None:
        return lambda block: block.write(folder)
    return BlockWriter(folder, bundled.SIMULATED, blocks_from=blocks_from).write
