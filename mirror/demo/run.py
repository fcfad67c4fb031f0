"""The demo network of `manage.py up`: making its history and loading it."""

import multiprocessing
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, nullcontext
from multiprocessing.connection import Connection
from pathlib import Path

from django.conf import settings

from ledger.ingest.hash_chain import Position
from ledger.ingest.pipeline import LoadOptions, Pipeline
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.source.local import FileOnDisk
from ledger.stream.source.stream_file import StreamFile
from mirror.core import config
from mirror.core.config.errors import OperatorError
from mirror.core.logs import Echo
from mirror.core.processes import signals
from mirror.core.processes.progress import FileDisplay
from mirror.demo.keys.nodes import nodes
from mirror.demo.publish.publisher import Publisher
from mirror.demo.streams.signing import address_book

NETWORK = "demo"
ADDRESS_BOOK_FILE = "addressbook.bin"

_TPS = 25
_SECONDS_PER_BLOCK = 36


def folder() -> Path:
    """Return the bucket folder of the node's own demo network."""
    bucket: Path = settings.DATA_DIR / settings.DEMO_STREAM
    return bucket


def first_book() -> bytes:
    """Return the serialized NodeAddressBook that the network begins with."""
    return address_book(node.address_book_node for node in nodes())


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
