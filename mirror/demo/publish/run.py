"""The demo network of `manage.py up`: its history is made and loaded; then it goes on, if it is live.

A live network writes a block every two seconds: record files, which are loaded as they are published, or
blocks, which the node follows (`live_blocks`).
"""

import multiprocessing
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing.connection import Connection
from pathlib import Path

from django.conf import settings

from ledger.ingest import IngestError
from ledger.ingest.hash_chain import Position
from ledger.ingest.loader_lock import loader_lock
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.reporting import Reporting
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.errors import StreamFileError
from ledger.stream.source.local import FileOnDisk
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config, metrics
from mirror.core.config.setting import OperatorError
from mirror.core.db.availability import outage
from mirror.core.logs import Echo
from mirror.core.processes import signals
from mirror.core.processes.progress import FileDisplay
from mirror.demo.publish.producing import BLOCKS_RETAINED, SOURCE, next_blocks
from mirror.demo.publish.publisher import Publisher
from mirror.demo.streams.keys import first_book, nodes

NETWORK = "demo"
ADDRESS_BOOK_FILE = "addressbook.bin"

_TPS = 25
_SECONDS_PER_BLOCK = 36


def folder() -> Path:
    """Return the bucket folder of the node's own demo network."""
    bucket: Path = settings.DATA_DIR / settings.DEMO_STREAM
    return bucket


# HISTORY


class HistoryProducer:
    """Makes the history in a child process: making and loading take a core each.

    `end` has to be called, so hold the stop signals back until that is certain.
    """

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher
        self._receiving, sending = multiprocessing.Pipe(duplex=False)
        context = multiprocessing.get_context("fork")
        self._process = context.Process(target=_produce, args=(publisher, sending), name="demo")
        self._process.start()
        # So that its end is the end of the pipe.
        sending.close()

    def files(self) -> Iterator[FileOnDisk]:
        """Yield the files as they are made. Errors: OperatorError if they can't be made."""
        try:
            while name := self._receiving.recv():
                if isinstance(name, OperatorError):
                    raise name
                yield self._publisher.published(name)
        except EOFError:
            raise OperatorError("The demo network could not be made; its output above says why.") from None

    def end(self) -> None:
        self._process.kill()
        self._process.join()
        self._receiving.close()


@contextmanager
def start_producing() -> Iterator[HistoryProducer | None]:
    """Begin to make the history, unless it is complete, for `load` once there is a database."""
    publisher = Publisher(folder(), nodes())
    producer: HistoryProducer | None = None
    try:
        if not publisher.complete:
            with signals.signals_blocked():
                producer = HistoryProducer(publisher)
        yield producer
    finally:
        if producer:
            producer.end()


def load(echo: Echo, producer: HistoryProducer | None = None) -> None:
    """Load the history, which `producer` makes or which is made here; continue an interrupted load.

    Does nothing if the database holds another stream. Errors: OperatorError.
    """
    stored, publisher = Position.stored(), Publisher(folder(), nodes())
    if stored and (not folder().is_dir() or publisher.is_loaded(stored)):
        return
    began = time.monotonic()
    with nullcontext(producer) if producer else start_producing() as making:
        if making:
            echo(f"Making a demo network with hours of history in {folder()} and loading it.")
        files: Iterable[StreamFile] = making.files() if making else publisher.all_published()
        with FileDisplay("Loading", config.value("demo.blocks"), echo) as display:
            progress = Pipeline(LoadOptions(quorums=Quorums(first_book())), report=display.show).run(files)
    # Threshold signatures don't name their signers.
    signers = f"{len(progress.signed_by)} nodes" if progress.signed_by else "a quorum"
    echo(
        f"Loaded {progress.transactions:,} transactions in {progress.files:,} blocks, signed by {signers}, "
        f"in {time.monotonic() - began:.1f} s."
    )


def _produce(publisher: Publisher, sending: Connection) -> None:
    # Imported here, as only this process needs it.
    from mirror.demo.publish.history import History

    signals.start_supervised()
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
        sending.send("")
    except OSError as error:
        cause = error.strerror or str(error)
        sending.send(OperatorError(f"The demo network can't be written to {publisher.folder}: {cause}."))
    sending.close()


_NO_NETWORK = (
    "There is no demo network in {folder} to go on with: --live needs a node that was started on an empty "
    "database with SVC_MIRROR_NETWORK=demo."
)
_OTHER_VERSION = (
    "The demo network in {folder} was left by another version of this program, or is damaged, and can't go "
    "on: start without --live, or with another data folder (SVC_MIRROR_DATA), which gets a new network."
)


def check_goes_on() -> None:
    """Check that the demo network can go on. Errors: OperatorError if it can't."""
    publisher = Publisher(folder(), nodes())
    if not publisher.is_resumable:
        problem = _OTHER_VERSION if publisher.complete else _NO_NETWORK
        raise OperatorError(problem.format(folder=folder()))


def live(echo: Echo, *, block_node: bool = False) -> None:
    """Produce and load a block every two seconds until a signal stops the process.

    With a block node, the network switches to blocks for good, unless it has. Errors: OperatorError.
    """
    check_goes_on()
    signals.end_with_parent()
    metrics.start("demo network")
    stopping = signals.stop_event()
    publisher = Publisher(folder(), nodes())
    try:
        publisher.resume()
    except LookupError as error:
        raise OperatorError(_OTHER_VERSION.format(folder=folder())) from error
    try:
        if block_node or publisher.writes_blocks:
            # Imported here, as gRPC and threshold signatures take memory that other networks don't need.
            from mirror.demo.publish import live_blocks

            live_blocks.live(echo, publisher, stopping)
        else:
            _live(echo, stopping)
    except (StreamFileError, IngestError) as error:
        raise OperatorError(str(error)) from error


def _live(echo: Echo, stopping: threading.Event) -> None:
    """Go on with record files."""
    # Imported here, as only this process needs it.
    from mirror.demo.publish.history import BLOCK_SECONDS

    def files(pipeline: Pipeline) -> Iterator[StreamFile | None]:
        # Network and database each resume where they stopped: files that are not in the database yet are
        # published and loaded from there.
        publisher = Publisher(folder(), nodes())
        network, _ = publisher.resume()
        yield from publisher.all_published()
        for block in next_blocks(network, stopping):
            if block is None:
                yield None
            else:
                yield publisher.publish(network, block)
                publisher.loaded = pipeline.committed.last
                publisher.delete_loaded(BLOCKS_RETAINED)

    def run() -> None:
        with loader_lock(), Reporting(source=SOURCE, following=True) as report:
            pipeline = Pipeline(LoadOptions(quorums=Quorums(first_book())), report=report.loading)
            pipeline.run(files(pipeline))

    echo(f"The demo network is live: a block every {BLOCK_SECONDS} seconds.")
    outage.retry_during_outage(run, stopping)
