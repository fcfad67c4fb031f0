"""Archiving verified stream files, in threads, before the batch with their rows commits.

So a committed file is archived, even if the process is killed. If the archive can't be written, a loader
that follows the stream continues: files that are not archived are rows of archive_failure, in the same
transaction. A loader of given files stops instead, as they can't be fetched again.
"""

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import NamedTuple

from django.db.backends.utils import CursorWrapper

from ledger.archive import location
from ledger.archive.originals import ArchiveSelection, Original
from ledger.archive.store import ArchiveStore, ArchiveUnavailable
from ledger.stream.errors import StreamFileError
from ledger.stream.record_file import RecordFile
from mirror.core import logs
from mirror.core.config.setting import OperatorError
from mirror.core.metrics import ingest

log = logs.logger(__name__)

# Pause after a failed write: each attempt may take as long as a request.
_SECONDS_BEFORE_RETRY = 30.0

_FAILURE = """
    insert into archive_failure (consensus_end, name, since, reason) values (%s, %s, now(), %s)
    on conflict (consensus_end) do nothing"""


class ArchivingFailed(OperatorError):
    """A file that has to be archived can't be."""


class _File(NamedTuple):
    name: str
    consensus_end: int
    futures: "Sequence[Future[str]]"

    def problem(self) -> str:
        """Wait until all is written; return why something is not, else ""."""
        return next(filter(None, [future.result() for future in self.futures]), "")


@dataclass(eq=False)
class ArchiveBatch:
    """The files of one batch."""

    archiver: "Archiver"
    files: list[_File] = field(default_factory=list)
    # Those that could not be archived, and why.
    missing: list[tuple[_File, str]] = field(default_factory=list)

    def add(self, file: RecordFile, originals: Sequence[Original]) -> None:
        if originals:
            self.files.append(_File(file.name, file.consensus_end, self.archiver.submit(originals)))

    def wait(self) -> None:
        """Wait until all is written, or has failed. Errors: ArchivingFailed where loading has to stop."""
        if not self.files:
            return
        problems = [(file, file.problem()) for file in self.files]
        sync_error = self.archiver.sync()
        self.missing = [(file, problem or sync_error) for file, problem in problems if problem or sync_error]
        if self.missing and self.archiver.required:
            first, reason = self.missing[0]
            raise ArchivingFailed(
                f"{first.name} can't be archived in {self.archiver.location}: {reason}. It is not loaded "
                "either: run the command again once the archive can be written."
            )

    def store_failures(self, cursor: CursorWrapper) -> None:
        """After `wait`: store failures, and that the archive is in use, in the transaction of the batch."""
        if len(self.files) > len(self.missing) and not self.archiver.use_stored:
            location.set_in_use(cursor)
            # If this is rolled back, the run ends, and the archiver with it.
            self.archiver.use_stored = True
        if self.missing:
            failures = [(file.consensus_end, file.name, problem) for file, problem in self.missing]
            cursor.executemany(_FAILURE, failures)

    def update_metrics(self) -> None:
        ingest.ARCHIVED.inc(len(self.files) - len(self.missing))
        ingest.ARCHIVE_FAILURES.inc(len(self.missing))
        if self.missing:
            first, reason = self.missing[0]
            log.error(
                "files_not_archived",
                files=len(self.missing),
                first=first.name,
                archive=self.archiver.location,
                reason=reason,
            )


class Archiver:
    """Writes files to the archive, several at once. With `required`, loading ends where that fails."""

    def __init__(self, selection: ArchiveSelection, archive: ArchiveStore, *, required: bool) -> None:
        """Errors: WrongArchive; ArchivingFailed if the archive is unavailable, with `required`."""
        self.selection, self.required = selection, required
        self._archive, self.location = archive, archive.location
        self._ready = False
        self.use_stored = self._used = location.is_in_use()
        # Why the last write failed, and until when no other is attempted (monotonic seconds).
        self._problem, self._paused_until = "", 0.0
        self._preparing = threading.Lock()
        self._pool = ThreadPoolExecutor(archive.concurrency, thread_name_prefix="archiver")
        try:
            self._prepare()
        except ArchiveUnavailable as error:
            if required:
                raise ArchivingFailed(
                    f"Nothing can be archived in {archive.location}: {error}. Run the command again once "
                    f"it can be written, or name another location by {location.LOCATION}."
                ) from error

    def close(self) -> None:
        self._pool.shutdown(cancel_futures=True)

    def new_batch(self) -> ArchiveBatch:
        return ArchiveBatch(self)

    def submit(self, originals: Sequence[Original]) -> "Sequence[Future[str]]":
        """Return futures of the reasons why files could not be written, "" if they were."""
        if time.monotonic() < self._paused_until:
            failure: Future[str] = Future()
            failure.set_result(self._problem)
            return [failure]
        if not self._used and location.is_in_use():
            # The archive was unavailable at the start, and the maintainer has written files since.
            self._used = True
        threads = min(len(originals), self._archive.concurrency)
        return [self._pool.submit(self._write, originals[first::threads]) for first in range(threads)]

    def sync(self) -> str:
        """Make all that was written survive a power cut; return why that failed, else ""."""
        try:
            self._archive.sync()
        except ArchiveUnavailable as error:
            return self._pause(str(error))
        return ""

    def _prepare(self) -> None:
        """Errors: ArchiveUnavailable, OperatorError."""
        with self._preparing:
            if self._ready:
                return
            if time.monotonic() < self._paused_until:
                raise ArchiveUnavailable(self._problem)
            try:
                self._archive.prepare(self.selection.network, used=self._used)
            except (ArchiveUnavailable, OperatorError) as error:
                # Threads that wait for the lock fail with the same reason.
                self._pause(str(error))
                raise
            self._ready = self._used = True

    def _write(self, originals: Sequence[Original]) -> str:
        try:
            for original in originals:
                if time.monotonic() < self._paused_until:
                    return self._problem
                self._prepare()
                self._archive.put(original.path, original.stored)
        except (ArchiveUnavailable, OperatorError) as error:
            return self._pause(str(error))
        except StreamFileError as error:
            return str(error)
        return ""

    def _pause(self, reason: str) -> str:
        # Another disk may be mounted meanwhile.
        self._ready = False
        self._problem, self._paused_until = reason, time.monotonic() + _SECONDS_BEFORE_RETRY
        return reason
