"""Looking after kept stream files beside a loader: what is missing is fetched, what is too old goes."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from django.db import connection

from ledger.ingest.errors import IngestError
from ledger.ingest.keeping import missing, retention, used
from ledger.ingest.keeping.originals import Wanted
from ledger.ingest.trust import Trust
from ledger.stream.errors import StreamFileError
from ledger.stream.kept.location import PERIOD
from ledger.stream.kept.writing import PlaceAway, WritablePlace, open_place
from mirror import config, logs
from mirror.config.errors import OperatorError
from mirror.db import outage
from mirror.node.beside import working
from mirror.values.readable import duration
from mirror.values.timestamp import NANOS_PER_SECOND

log = logs.logger(__name__)

Say = Callable[[str], None]

_FIRST_PAUSE, _LONGEST_PAUSE = 30.0, 600.0

# Index: the primary key (consensus_end).
_LAST = "select consensus_end from record_file order by consensus_end desc limit 1"
_FORGET = "delete from not_kept where consensus_end < %s"


class Caretaker:
    """Keeps what is missing, and drops what is too old, again and again."""

    def __init__(
        self,
        place: WritablePlace,
        say: Say,
        location: str,
        first_book: bytes | None,
        stopping: threading.Event,
    ) -> None:
        self._place, self._say, self._location, self._stopping = place, say, location, stopping
        self._trust = Trust(first_book)
        self._wanted = Wanted.by_settings()
        self._next_drop = time.monotonic()
        # Whether the place was there once, also if nothing has been kept in it yet.
        self._prepared = False
        # Of the missing files those up to this end (ns) were tried last.
        self._reached = 0

    def run(self) -> None:
        pause = _FIRST_PAUSE
        while not self._stopping.wait(pause):
            try:
                left = outage.outlast(self.care, self._stopping)
            except (PlaceAway, OperatorError, IngestError, StreamFileError, *outage.ERRORS) as error:
                log.warning("kept_files_left_alone", reason=str(error))
                left = True
            except Exception:
                log.exception("caretaker_failed")
                left = True
            finally:
                # The database may close a connection that rests for long.
                with suppress(*outage.ERRORS):
                    connection.close()
            pause = min(pause * 2, _LONGEST_PAUSE) if left else _FIRST_PAUSE

    def care(self) -> bool:
        """Do once what there is to do; tell if files are missing that could not be fetched, and no others.

        Errors: PlaceAway, OperatorError, IngestError, StreamFileError.
        """
        self._place.prepare(self._wanted.network, used=self._prepared or used.before())
        self._prepared = True
        mended = missing.mend(
            self._place, self._wanted, self._trust, self._location, self._stopping, after=self._reached
        )
        self._reached = mended.reached
        if mended.kept:
            self._say(f"{mended.kept:,} files that could not be kept when they were loaded are kept now.")
        if time.monotonic() >= self._next_drop:
            self._drop()
            self._next_drop = time.monotonic() + config.value("importer.retention.frequency")
        return mended.missing > 0 and not mended.reached

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
            log.info("kept_files_dropped", files=dropped)
            self._say(f"{dropped:,} kept files were older than {duration(round(period))}, and are dropped.")


@contextmanager
def beside(say: Say, location: str, first_book: bytes | None) -> Iterator[None]:
    """Look after kept files in a thread for the length of the block, if the settings say that some are kept.

    Errors: OperatorError.
    """
    if not Wanted.by_settings().anything:
        yield
        return
    over = threading.Event()
    caretaker = Caretaker(open_place(), say, location, first_book, over)
    with working("kept files", caretaker.run, over):
        yield
