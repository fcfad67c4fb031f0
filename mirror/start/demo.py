"""The demo network of `up`: its history is loaded first, then it goes on if it is live."""

import multiprocessing
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from multiprocessing.connection import Connection

from django.db import Error, connections

from ledger.archive.originals import ArchiveSelection
from ledger.ingest import IngestError
from ledger.stream.errors import StreamFileError
from mirror.core.config.setting import OperatorError
from mirror.core.db.availability import failure
from mirror.core.logs import Echo
from mirror.core.processes import exits, signals
from mirror.demo.publish import run
from mirror.demo.publish.run import check_goes_on as check_goes_on
from mirror.demo.publish.run import start_producing as start_producing
from mirror.demo.streams.keys import first_book
from mirror.node.postgres.server import Server
from mirror.start import supervisor


def load(echo: Echo, producer: run.HistoryProducer | None, server: Server | None) -> None:
    """Load the demo network in a process of its own, whose memory ends with it. Errors: OperatorError."""
    # The child process can't use a copied connection.
    connections.close_all()
    receiving, sending = multiprocessing.Pipe(duplex=False)
    with receiving, sending:
        work = partial(_sending_error, sending, partial(run.load, producer=producer))
        loading = partial(supervisor.run_with_metrics, "loader", work, echo)
        code = supervisor.Part("loader", loading, echo).finish()
        error: OperatorError | None = receiving.recv() if receiving.poll() else None
    if error or code:
        if server:
            server.check_disk()
        cause = f"The demo network could not be loaded: the loader {exits.reason(code)}."
        raise error or OperatorError(cause)


def _sending_error(sending: Connection, work: Callable[[Echo], None], echo: Echo) -> None:
    """Do the work, and send the error that an operator can cure, if one ends it."""
    # So that a progress bar ends in order, too.
    signals.raise_on_stop()
    try:
        work(echo)
    except signals.Stop:
        return
    except OperatorError as error:
        sending.send(error)
    except (StreamFileError, IngestError) as error:
        sending.send(OperatorError(str(error)))
    except (Error, OSError) as error:
        if (message := failure.sentence(error)) is None:
            raise
        sending.send(OperatorError(message))


def live(echo: Echo, *, block_node: bool) -> None:
    with ExitStack() as stack:
        if ArchiveSelection.from_settings().is_enabled:
            # The library of buckets takes 5 MB, which a node without an archive does not need.
            from mirror.node.loading import archive_maintenance

            stack.enter_context(archive_maintenance.in_thread(echo, str(run.folder()), first_book()))
        run.live(echo, block_node=block_node)
