"""The demo network of `manage.py up`: making and loading its history, and keeping it live."""

import multiprocessing
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from multiprocessing.connection import Connection
from pathlib import Path

from django.conf import settings

from ledger.ingest.chain import Position
from ledger.ingest.errors import IngestError
from ledger.ingest.loader_lock import loader_lock
from ledger.ingest.pipeline import Pipeline
from ledger.ingest.reporting import Reporting
from ledger.ingest.trust import Trust
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.address_book import address_book
from ledger.stream.source.local import LocalRecordFile, find_record_files
from ledger.stream.source.stream_file import StreamFile
from mirror import config
from mirror.config import clock
from mirror.config.errors import OperatorError
from mirror.db import outage
from mirror.demo.keys.nodes import nodes
from mirror.demo.publish.publisher import Publisher
from mirror.metrics import files as counts
from mirror.processes import signals
from mirror.processes.progress import shown
from mirror.values.timestamp import NANOS_PER_SECOND

NETWORK = "demo"
ADDRESS_BOOK_FILE = "addressbook.bin"

_TPS, _LIVE_TPS = 25, 5
_SECONDS_PER_BLOCK = 36
# Loaded blocks are not needed any more, but an auditor may want to look at the last ones.
_KEPT_BLOCKS = 1_000
_BLOCKS_REMEMBERED = 100

_NO_NETWORK = (
    "There is no demo network in {folder} to go on with: --live needs a node that was started on an empty "
    "database with SVC_MIRROR_NETWORK=demo."
)
_OTHER_VERSION = (
    "The demo network in {folder} was left by another version of this program, or is damaged, and can't go "
    "on: start without --live, or with another data folder (SVC_MIRROR_DATA), which gets a new network."
)

Say = Callable[[str], None]


def folder() -> Path:
    """Return the bucket folder of the node's own demo network."""
    bucket: Path = settings.DATA_DIR / "demo-stream"
    return bucket


def first_book() -> bytes:
    """Return the serialized NodeAddressBook that the network begins with."""
    return address_book(node.address_book_node for node in nodes())


# HISTORY


class Maker:
    """Makes the history in a child process: making and loading take a core each.

    `end` has to be called, so hold the stop signals back until that is certain.
    """

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._receiving, sending = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_make, args=(publisher, sending), name="demo")
        self._process.start()
        sending.close()

    def files(self) -> Iterator[LocalRecordFile]:
        """Yield the files as they are made. Errors: OperatorError if they can't be made."""
        with suppress(EOFError):
            while True:
                name: str | OperatorError = self._receiving.recv()
                if isinstance(name, OperatorError):
                    raise name
                yield self._publisher.published(name)
        self._process.join()
        if self._process.exitcode:
            raise OperatorError("The demo network could not be made; its output above says why.")

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._receiving.close()


@contextmanager
def made_ahead() -> Iterator[Maker | None]:
    """Begin to make the history, unless it is complete, for `load` once there is a database."""
    publisher = Publisher(folder(), nodes())
    maker: Maker | None = None
    try:
        if not publisher.complete:
            with signals.held():
                maker = Maker(publisher)
        yield maker
    finally:
        if maker:
            maker.end()


def load(say: Say, maker: Maker | None = None) -> None:
    """Load the history, which `maker` makes or which is made here; continue an interrupted load.

    Does nothing if the database holds another stream. Errors: OperatorError.
    """
    stored, publisher = Position.stored(), Publisher(folder(), nodes())
    if stored and (not folder().is_dir() or publisher.newest() <= stored.name):
        return
    began = time.monotonic()
    with ExitStack() as ending:
        files: Iterable[StreamFile]
        if maker is None and publisher.complete:
            files = find_record_files([publisher.folder])
        else:
            say(f"Making a demo network with hours of history in {folder()} and loading it.")
            if maker is None:
                with signals.held():
                    maker = Maker(publisher)
                    ending.callback(maker.end)
            files = maker.files()
        with shown("Loading", config.value("demo.blocks"), say) as display:
            done = Pipeline(trust=Trust(first_book()), report=display.show).run(files)
    say(
        f"Loaded {done.transactions:,} transactions in {done.files:,} blocks, signed by "
        f"{len(done.signed_by)} nodes, in {time.monotonic() - began:.1f} s."
    )


def _make(publisher: Publisher, sending: Connection) -> None:
    # Imported here, as only this process needs it.
    from mirror.demo.publish.history import History

    signals.leave_to_supervisor()
    signals.end_with_parent()
    blocks = config.value("demo.blocks")
    hours = blocks * _SECONDS_PER_BLOCK / 3600
    history = History(blocks, _TPS, config.value("demo.seed"), hours)
    try:
        for network, block in history.play(nodes()):
            if block.number == blocks - 1:
                publisher.publish(network, block)
            else:
                block.write(publisher.folder)
            sending.send(block.name)
    except OSError as error:
        cause = error.strerror or str(error)
        sending.send(OperatorError(f"The demo network can't be written to {publisher.folder}: {cause}."))
    sending.close()


# LIVE


def check_goes_on() -> None:
    """Check that the demo network can go on. Errors: OperatorError if it can't."""
    publisher = Publisher(folder(), nodes())
    if not publisher.goes_on:
        problem = _OTHER_VERSION if publisher.complete else _NO_NETWORK
        raise OperatorError(problem.format(folder=folder()))


def live(say: Say) -> None:
    """Produce and load a block every two seconds until a signal stops the process. Errors: OperatorError."""
    # Imported here, as only this process needs it.
    from mirror.demo.publish.history import BLOCK_SECONDS, next_block, wait
    from mirror.demo.world.forgetting import forget

    check_goes_on()
    signals.end_with_parent()
    counts.begin("demo network")
    stopping = signals.stop_event()

    def blocks() -> Iterator[StreamFile | None]:
        # Network and database each go on from where they stopped: files that the database lacks are published
        # and loaded from there.
        publisher = Publisher(folder(), nodes())
        network, _ = publisher.resume()
        yield from find_record_files([publisher.folder])
        while True:
            yield None
            if stopping.wait(BLOCK_SECONDS - time.time() % BLOCK_SECONDS):
                return
            # A block holds the transactions of the two seconds before it.
            for block in wait(network, clock.now_ns() - BLOCK_SECONDS * NANOS_PER_SECOND):
                yield publisher.publish(network, block)
            block = next_block(network, _LIVE_TPS)
            if block.number % _BLOCKS_REMEMBERED == 0:
                forget(network.world)
            yield publisher.publish(network, block)
            publisher.forget(_KEPT_BLOCKS)

    def run() -> None:
        with loader_lock(), Reporting(source="the live demo network", following=True) as report:
            Pipeline(trust=Trust(first_book()), report=report.loading).run(blocks())

    say(f"The demo network is live: a block every {BLOCK_SECONDS} seconds.")
    try:
        outage.outlast(run, stopping)
    except (StreamFileError, IngestError) as error:
        raise OperatorError(str(error)) from error
