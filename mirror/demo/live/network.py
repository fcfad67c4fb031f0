"""The demo network of `manage.py up --live`: a block every two seconds, which the node loads.

It writes record files, which are loaded as they are published, or blocks, which the node follows (`blocks`).
"""

import threading
from collections.abc import Iterator

from ledger.ingest.errors import IngestError
from ledger.ingest.loader_lock import loader_lock
from ledger.ingest.pipeline import Pipeline
from ledger.ingest.reporting import Reporting
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.errors import StreamFileError
from ledger.stream.source.stream_file import StreamFile
from mirror.core import metrics
from mirror.core.config.errors import OperatorError
from mirror.core.db.availability import outage
from mirror.core.logs import Echo
from mirror.core.processes import signals
from mirror.demo.keys.nodes import nodes
from mirror.demo.live.producing import BLOCKS_RETAINED, SOURCE, next_blocks
from mirror.demo.publish.publisher import Publisher
from mirror.demo.run import first_book, folder

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
            from mirror.demo.live import blocks

            blocks.live(echo, publisher, stopping)
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
            pipeline = Pipeline(quorums=Quorums(first_book()), report=report.loading)
            pipeline.run(files(pipeline))

    echo(f"The demo network is live: a block every {BLOCK_SECONDS} seconds.")
    outage.retry_during_outage(run, stopping)
