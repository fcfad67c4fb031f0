"""Keeping verified stream files: they are written beside loading, and before the batch with them commits.

So a committed file is kept, whatever happens to the process. Where the place can't be written, a loader that
follows the stream goes on: what is not kept is noted in the table archive_failure, in the same transaction. A
loader of given files stops instead, as nobody could fetch them again.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.backends.utils import CursorWrapper

from ledger.archive import known_location
from ledger.archive.location import PLACE
from ledger.archive.originals import ArchiveSelection, Original
from ledger.archive.store import ArchiveStore, ArchiveUnavailable
from ledger.stream.errors import StreamFileError
from ledger.stream.record.record_file import RecordFile
from mirror.core import logs
from mirror.core.config.errors import OperatorError
from mirror.core.metrics import ingest

log = logs.logger(__name__)

# A place that could not be written is left alone for so long: each attempt may take as long as a request.
_SECONDS_BEFORE_RETRY = 30.0

_NOTE = """
    insert into archive_failure (consensus_end, name, since, reason) values (%s, %s, now(), %s)
    on conflict (consensus_end) do nothing"""


class ArchivingFailed(OperatorError):
    """A file that has to be kept can't be."""


class _File(NamedTuple):
    name: str
    consensus_end: int
    written: "Sequence[Future[str]]"

    def problem(self) -> str:
        """Wait until all is written; return why something is not, "" if nothing is wrong."""
        return next(filter(None, [part.result() for part in self.written]), "")


@dataclass(eq=False)
class Portion:
    """The files of one batch."""

    archiver: "Archiver"
    files: list[_File]
    # Those that could not be kept, and why.
    missing: list[tuple[_File, str]] = field(default_factory=list)

    def add(self, file: RecordFile, originals: Sequence[Original]) -> None:
        """Begin to write what is kept of a file."""
        if originals:
            written = self.archiver.begin(originals)
            self.files.append(_File(file.name, file.consensus_end, written))

    def finish(self) -> None:
        """Wait until all is written, or is known to be missing.

        Errors: KeepingFailed where loading shall not go on.
        """
        if not self.files:
            return
        problems = [file.problem() for file in self.files]
        settled = self.archiver.settle()
        self.missing = [
            (file, problem or settled)
            for file, problem in zip(self.files, problems, strict=True)
            if problem or settled
        ]
        if self.missing and self.archiver.stops:
            first, reason = self.missing[0]
            raise ArchivingFailed(
                f"{first.name} can't be kept in {self.archiver.location}: {reason}. It is not loaded either: "
                "run the command again once the place can be written."
            )

    def note(self, cursor: CursorWrapper) -> None:
        """Note what is missing, and that the place is used, in the transaction of the batch.

        It needs what `finish` has found, so it comes after it.
        """
        if len(self.files) > len(self.missing) and not self.archiver.use_noted:
            known_location.note(cursor)
            # If this is rolled back, the run ends, and the keeper with it.
            self.archiver.use_noted = True
        if self.missing:
            cursor.executemany(
                _NOTE, [(file.consensus_end, file.name, problem) for file, problem in self.missing]
            )

    def count(self) -> None:
        """Count what was kept and what was not, once the batch is committed."""
        ingest.KEPT.add(by=len(self.files) - len(self.missing))
        ingest.NOT_KEPT.add(by=len(self.missing))
        if self.missing:
            first, reason = self.missing[0]
            log.error(
                "files_not_kept",
                files=len(self.missing),
                first=first.name,
                place=self.archiver.location,
                reason=reason,
            )


class Archiver:
    """Writes files to the kept place, several at once. With `stops`, loading ends where that fails.

    The threads of its pool have no connection to the database.
    """

    def __init__(self, wanted: ArchiveSelection, place: ArchiveStore, *, stops: bool) -> None:
        """Errors: WrongPlace; KeepingFailed if the place is away, with `stops`."""
        self.wanted = wanted
        self.stops = stops
        self._place = place
        self._ready = False
        self.use_noted = self._used = known_location.before()
        # Why the place could not be written last, and until when it is left alone (monotonic seconds).
        self._problem, self._away_until = "", 0.0
        self._preparing = threading.Lock()
        self._pool = ThreadPoolExecutor(place.at_once, thread_name_prefix="keeper")
        try:
            self._prepare()
        except ArchiveUnavailable as error:
            if stops:
                raise ArchivingFailed(
                    f"Nothing can be kept in {place.location}: {error}. Run the command again once it can be "
                    f"written, or name another place by {PLACE}."
                ) from error

    @property
    def location(self) -> str:
        return self._place.location

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def portion(self) -> Portion:
        return Portion(self, [])

    def begin(self, originals: Sequence[Original]) -> "Sequence[Future[str]]":
        """Return the reasons why files could not be written, once these are known; "" if they were.

        The files of a block are written side by side, as somebody may wait for that block.
        """
        if time.monotonic() < self._away_until:
            written: Future[str] = Future()
            written.set_result(self._problem)
            return [written]
        if not self._used and known_location.before():
            # The place was away when this keeper began, and the caretaker has kept files there since.
            self._used = True
        parts = min(len(originals), self._place.at_once)
        return [self._pool.submit(self._write, originals[part::parts]) for part in range(parts)]

    def settle(self) -> str:
        """Make all that was written outlast a power cut; return why that failed, "" if it did not."""
        try:
            self._place.settle()
        except ArchiveUnavailable as error:
            return self._away(str(error))
        return ""

    def _prepare(self) -> None:
        """Errors: PlaceAway; OperatorError."""
        with self._preparing:
            if self._ready:
                return
            if time.monotonic() < self._away_until:
                raise ArchiveUnavailable(self._problem)
            try:
                self._place.prepare(self.wanted.network, used=self._used)
            except (ArchiveUnavailable, OperatorError) as error:
                # Others that wait here need not find out for themselves.
                self._away(str(error))
                raise
            self._ready = self._used = True

    def _write(self, originals: Sequence[Original]) -> str:
        try:
            for original in originals:
                if time.monotonic() < self._away_until:
                    return self._problem
                self._prepare()
                self._place.put(original.path, original.stored)
        except (ArchiveUnavailable, OperatorError) as error:
            return self._away(str(error))
        except StreamFileError as error:
            return str(error)
        return ""

    def _away(self, reason: str) -> str:
        # It may be another one when it is back.
        self._ready = False
        self._problem, self._away_until = reason, time.monotonic() + _SECONDS_BEFORE_RETRY
        return reason
