"""Dropping old partitions: one process at a time, never during a backup, safe to kill."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial

from django.db import connection

from mirror.core import config, logs
from mirror.core.config.setting import OperatorError
from mirror.core.db import statements
from mirror.core.db.availability import outage
from mirror.core.db.partitions import dropping
from mirror.core.db.partitions.dropping import ExpiredPartition
from mirror.core.processes.background_thread import in_background
from mirror.core.values.human_readable import byte_size
from mirror.operations.backup.sessions import exclusive, session
from mirror.operations.retention.plan import periods, plan

log = logs.logger(__name__)


# After a failure, such as a backup that holds the lock.
_RETRY_SECONDS = 600.0
# The loader's do not count here: detaching waits for the longest reader.
_WITHOUT_LIMITS = "set lock_timeout = 0; set statement_timeout = 0"


def drop(
    old: list[ExpiredPartition], show: Callable[[ExpiredPartition], None] = lambda old: None
) -> list[ExpiredPartition]:
    """Drop partitions; return those that were still there.

    Errors: OperatorError while a backup, a restore or another pruning is at work.
    """
    with session() as own, exclusive(own):
        return dropping.drop(old, show)


def prune_continuously(echo: logs.Echo, stopping: threading.Event) -> None:
    """Drop expired partitions repeatedly, until `stopping` is set."""
    while not stopping.is_set():
        pause = config.value("importer.retention.frequency")
        try:
            outage.retry_during_outage(lambda: _prune(echo), stopping)
        except OperatorError as error:
            echo(f"Retention: {error}")
            pause = min(pause, _RETRY_SECONDS)
        except outage.ERRORS as error:
            log.exception("pruning_failed")
            echo(f"Retention: nothing more was dropped, as the database says: {outage.reason(error)}")
            pause = min(pause, _RETRY_SECONDS)
        # The database may close a connection that is idle for so long.
        with suppress(*outage.ERRORS):
            connection.close()
        stopping.wait(pause)


def _prune(echo: logs.Echo) -> None:
    statements.execute(_WITHOUT_LIMITS)
    planned = plan(periods())

    def show(each: ExpiredPartition) -> None:
        log.info("pruned", partition=each.partition.name, bytes=each.bytes)

    # An interrupted one left something behind only if it had something to drop.
    if dropped := drop(planned.expired, show):
        size = byte_size(sum(each.bytes for each in dropped))
        echo(f"Retention: dropped {len(dropped)} partitions of {size}.")


@contextmanager
def in_thread(echo: logs.Echo) -> Iterator[None]:
    """Prune in a thread for the length of the block, if the settings enable it."""
    if not config.value("importer.retention.enabled"):
        yield
        return
    stopping = threading.Event()
    with in_background("retention", partial(prune_continuously, echo, stopping), stopping):
        yield
