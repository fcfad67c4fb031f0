"""Maintaining the archive while a loader runs: missing files are archived, old ones deleted."""

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import connection

from ledger.archive import location as archive_location
from ledger.archive import retention
from ledger.archive.originals import ArchiveSelection
from ledger.archive.repair import RepairSource, repair
from ledger.archive.store import ArchiveStore, ArchiveUnavailable, open_archive
from ledger.ingest.trusted_nodes import Quorums
from ledger.stream.errors import StreamFileError
from ledger.stream.source.stream_blocks import BlockSource
from mirror.core import config, logs
from mirror.core.config.setting import OperatorError
from mirror.core.db.availability import outage
from mirror.core.processes.background_thread import in_background
from mirror.core.values.human_readable import duration

log = logs.logger(__name__)


_FIRST_PAUSE, _MAX_PAUSE = 30.0, 600.0


class ArchiveMaintainer:
    """Repairs the archive and deletes old files, periodically."""

    def __init__(
        self,
        archive: ArchiveStore,
        echo: logs.Echo,
        location: str,
        first_book: bytes | None,
        stopping: threading.Event,
    ) -> None:
        self._archive, self._echo, self._stopping = archive, echo, stopping
        self._source = RepairSource(location, open_blocks, Quorums(first_book).quorum_at)
        self._selection = ArchiveSelection.from_settings()
        self._next_drop = time.monotonic()
        # Whether the archive was available before, even if it is still empty.
        self._prepared = False
        # The last repair ended with the files up to this time (ns).
        self._reached = 0

    def run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping.wait(pause):
            try:
                is_incomplete = outage.retry_during_outage(self.maintain, self._stopping)
            except (ArchiveUnavailable, OperatorError, StreamFileError, *outage.ERRORS) as error:
                log.warning("archive_files_ignored", reason=str(error))
                is_incomplete = True
            except Exception:
                log.exception("archive_maintenance_failed")
                is_incomplete = True
            finally:
                # The database may close an idle connection.
                with suppress(*outage.ERRORS):
                    connection.close()
            pause = min(pause * 2, _MAX_PAUSE) if is_incomplete else _FIRST_PAUSE

    def maintain(self) -> bool:
        """Repair and delete once; return whether all files that are still missing were tried.

        Errors: ArchiveUnavailable, OperatorError, StreamFileError.
        """
        network = self._selection.network
        self._archive.prepare(network, used=self._prepared or archive_location.is_in_use())
        self._prepared = True
        repaired = repair(self._archive, self._selection, self._source, self._stopping, after=self._reached)
        self._reached = repaired.resume_after
        if repaired.archived:
            self._echo(f"{repaired.archived:,} files that could not be archived before are archived now.")
        if time.monotonic() >= self._next_drop:
            if dropped := retention.drop_old(self._archive, network):
                log.info("archive_files_dropped", files=dropped)
                period = duration(round(config.value(archive_location.PERIOD)))
                self._echo(f"{dropped:,} archived files were older than {period}, and are deleted.")
            self._next_drop = time.monotonic() + config.value("importer.retention.frequency")
        return repaired.missing > 0 and not repaired.resume_after


def open_blocks(location: str) -> BlockSource:
    """Open the source of blocks. Errors: OperatorError."""
    # The library of block nodes takes 10 MB, which most nodes do not need.
    from ledger.ingest.following.configured_blocks import open_block_source

    return open_block_source(location)


@contextmanager
def in_thread(echo: logs.Echo, location: str, first_book: bytes | None) -> Iterator[None]:
    """Maintain the archive in a thread for the length of the block, if the settings select any files.

    Errors: OperatorError.
    """
    if not ArchiveSelection.from_settings().is_enabled:
        yield
        return
    stopping = threading.Event()
    maintainer = ArchiveMaintainer(open_archive(), echo, location, first_book, stopping)
    with in_background("archive maintenance", maintainer.run, stopping):
        yield
