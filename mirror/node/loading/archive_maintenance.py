"""Maintenance of the archive of stream files: missing files are fetched, expired ones are dropped."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from django.db import connection

from ledger.archive import known_location, retention
from ledger.archive.location import PERIOD
from ledger.archive.originals import ArchiveSelection
from ledger.archive.store import ArchiveStore, ArchiveUnavailable, open_place
from ledger.ingest import archive_repair
from ledger.ingest.errors import IngestError
from ledger.ingest.trust import Trust
from ledger.stream.errors import StreamFileError
from mirror.core import config, logs
from mirror.core.config.errors import OperatorError
from mirror.core.db.availability import outage
from mirror.core.values.human_readable import duration
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.node.loading.background_thread import in_background

log = logs.logger(__name__)

Say = Callable[[str], None]

_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 600.0

# Index: the primary key (consensus_end).
_LAST = "select consensus_end from record_file order by consensus_end desc limit 1"
_FORGET = "delete from archive_failure where consensus_end < %s"


class ArchiveMaintainer:
    """Archives missing files and drops expired ones, repeatedly."""

    def __init__(
        self,
        place: ArchiveStore,
        say: Say,
        location: str,
        first_book: bytes | None,
        stopping: threading.Event,
    ) -> None:
        self._place, self._say, self._location, self._stopping = place, say, location, stopping
        self._trust = Trust(first_book)
        self._wanted = ArchiveSelection.by_settings()
        self._next_drop = time.monotonic()
        # Whether the location was available once, even if no file is archived in it yet.
        self._prepared = False
        # Missing files up to this end (ns) were tried last.
        self._reached = 0

    def run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping.wait(pause):
            try:
                left = outage.outlast(self.maintain, self._stopping)
            except (ArchiveUnavailable, OperatorError, IngestError, StreamFileError, *outage.ERRORS) as error:
                log.warning("archive_files_ignored", reason=str(error))
                left = True
            except Exception:
                log.exception("archive_maintenance_failed")
                left = True
            finally:
                # The database may close a connection that is idle for long.
                with suppress(*outage.ERRORS):
                    connection.close()
            pause = min(pause * 2, _LONGEST_PAUSE) if left else _FIRST_PAUSE

    def maintain(self) -> bool:
        """Do one round; return whether all missing files were tried and some could not be fetched.

        Errors: ArchiveUnavailable, OperatorError, IngestError, StreamFileError.
        """
        self._place.prepare(self._wanted.network, used=self._prepared or known_location.before())
        self._prepared = True
        repair = archive_repair.mend(
            self._place, self._wanted, self._trust, self._location, self._stopping, after=self._reached
        )
        self._reached = repair.reached
        if repair.kept:
            self._say(f"{repair.kept:,} files that could not be kept when they were loaded are kept now.")
        if time.monotonic() >= self._next_drop:
            self._drop()
            self._next_drop = time.monotonic() + config.value("importer.retention.frequency")
        return repair.missing > 0 and not repair.reached

    def _drop(self) -> None:
        period = config.value(PERIOD)
        if not period:
            return
        with connection.cursor() as cursor:
            cursor.execute(_LAST)
            row = cursor.fetchone()
            if row is None:
                return
            before = int(row[0] - period * NANOS_PER_SECOND)
            cursor.execute(_FORGET, [before])
        if dropped := retention.drop(self._place, self._wanted.network, before):
            log.info("archive_files_dropped", files=dropped)
            self._say(f"{dropped:,} kept files were older than {duration(round(period))}, and are dropped.")


@contextmanager
def in_thread(say: Say, location: str, first_book: bytes | None) -> Iterator[None]:
    """Maintain the archive in a thread for the length of the block, if the settings archive any files.

    Errors: OperatorError.
    """
    if not ArchiveSelection.by_settings().anything:
        yield
        return
    over = threading.Event()
    maintainer = ArchiveMaintainer(open_place(), say, location, first_book, over)
    with in_background("archive maintenance", maintainer.run, over):
        yield
