"""Reports of a loader in the row of loader_state, where `manage.py status` and the admin see them.

The loader reports as often as it likes, from any thread; a thread of the report writes the row at most once a
second.
"""

import os
import socket
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime
from typing import Any, Self

from django.db import Error, connection

from ledger.ingest import IngestError
from ledger.ingest.stages.options import Progress
from ledger.stream.errors import StreamFileError
from ledger.stream.signature.quorum import NoQuorum
from ledger.stream.source import incidents
from mirror.core import logs
from mirror.core.config.setting import OperatorError
from mirror.core.db.availability import failure, outage
from mirror.core.values.timestamp import NANOS_PER_SECOND
from mirror.models import LoaderState

log = logs.logger(__name__)

SECONDS_BETWEEN_WRITES = 1.0
HEARTBEAT_SECONDS = 5.0
# A server that does not answer for so long is silent.
_WRITE_SECONDS = 5.0
# Rates are over the last minute.
_RATE_SECONDS = 60.0
_SECONDS_BETWEEN_SAMPLES = 0.5

Activity = LoaderState.Activity


@dataclass(frozen=True, kw_only=True)
class Signatures:
    """Who signed a file that too few nodes signed; stakes are tinybars, or nodes when `counted`."""

    signed: tuple[int, ...]
    others: Mapping[int, str]
    stake: int
    required: int
    counted: bool = False

    @classmethod
    def from_error(cls, error: NoQuorum) -> Self:
        return cls(
            signed=error.signed,
            others=error.others,
            stake=error.stake,
            required=error.required,
            counted=error.quorum.counted,
        )


@dataclass(frozen=True, kw_only=True)
class Problem:
    """Why a loader can't continue: file, position in it, cause, cure, and who signed the file."""

    file: str
    position: str = ""
    cause: str
    cure: str = ""
    signatures: Signatures | None = None

    @classmethod
    def from_error(cls, error: BaseException) -> "Problem":
        """Return the problem that an exception describes; of a foreign exception its type and text."""
        if isinstance(error, IngestError | StreamFileError):
            position = str(error.position)
            if isinstance(error, StreamFileError):
                position = f"byte {position}" if error.position else ""
            return cls(
                file=error.file,
                position=position,
                cause=error.cause,
                cure=error.cure,
                signatures=Signatures.from_error(error) if isinstance(error, NoQuorum) else None,
            )
        if isinstance(error, OperatorError):
            return cls(file="", cause=str(error))
        if isinstance(error, Error):
            return cls(file="", cause=failure.line(error))
        return cls(file="", cause=f"{type(error).__name__}: {str(error).strip()}")


class Reporting:
    """Reports on a loader while the block runs: `with Reporting(source=...) as report`.

    `source` says where files come from, such as "the folder /data/streams". When the block ends, the loader
    is reported as stopped, or as failed with the exception that ended the block.
    """

    def __init__(self, *, source: str, following: bool = False) -> None:
        self._values: dict[str, Any] = {
            "activity": Activity.STARTING,
            "source": source,
            "following": following,
            "process": os.getpid(),
            "host": socket.gethostname(),
            "started": datetime.now(UTC),
            "files": 0,
            "transactions": 0,
            "newest": None,
            "problem": None,
            "block_source": None,
        }
        self._block_source: Callable[[], dict[str, Any]] | None = None
        # monotonic seconds, transactions, consensus time (ns)
        self._samples: deque[tuple[float, int, int]] = deque()
        self._news = threading.Condition()
        self._changed, self._ending = True, False
        self._write_until = 0.0
        self._thread = threading.Thread(target=self._write_until_end, name="report", daemon=True)

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        with self._news:
            if error is None or isinstance(error, KeyboardInterrupt | SystemExit):
                self._values["activity"] = Activity.STOPPED
            else:
                self._values |= {"activity": Activity.FAILED, "problem": asdict(Problem.from_error(error))}
            self._ending = self._changed = True
            self._news.notify()
        self._thread.join()

    def loading(self, progress: Progress) -> None:
        """Report that files are being loaded and any problem is over; fit to be the pipeline's `report`."""
        now = time.monotonic()
        with self._news:
            self._values |= {"files": progress.files, "transactions": progress.transactions}
            is_due = not self._samples or now - self._samples[-1][0] >= _SECONDS_BETWEEN_SAMPLES
            # Nothing is committed yet without a last block.
            if is_due and progress.last:
                self._samples.append((now, progress.transactions, progress.last.consensus_end))
            self._set_activity(Activity.LOADING)

    def newest(self, consensus_time: int) -> None:
        """Report the time (ns) of the newest file that the source has."""
        with self._news:
            self._values["newest"] = consensus_time

    def block_source_from(self, read: Callable[[], dict[str, Any]] | None) -> None:
        """Report the status of the source of blocks that `read` returns; None: no blocks are followed."""
        with self._news:
            self._block_source = read
            self._changed = True

    def waiting(self) -> None:
        """Report that everything the source has is loaded and any problem is over."""
        with self._news:
            self._set_activity(Activity.WAITING)

    def stuck(self, problem: Problem) -> None:
        """Report that the loader waits and tries again. Its `since` is in seconds."""
        with self._news:
            before = self._values["problem"]
            since = before["since"] if before else int(time.time())
            self._set_activity(Activity.STUCK, asdict(problem) | {"since": since})

    def _set_activity(self, activity: str, problem: dict[str, Any] | None = None) -> None:
        urgent = (activity, problem) != (self._values["activity"], self._values["problem"])
        self._values |= {"activity": activity, "problem": problem}
        self._changed = True
        if urgent:
            self._news.notify()

    # WRITING

    def _write_until_end(self) -> None:
        # A loader waits for a silent server without end: this thread, which does not, reports that.
        connection.is_gone = lambda: time.monotonic() > self._write_until  # type: ignore[attr-defined]
        try:
            ending = False
            while not ending:
                with self._news:
                    if not self._changed:
                        self._news.wait_for(lambda: self._changed, HEARTBEAT_SECONDS)
                    values, ending, self._changed = self._snapshot(), self._ending, False
                self._write_until = time.monotonic() + _WRITE_SECONDS
                _write(values)
                with self._news:
                    self._news.wait_for(lambda: self._ending, SECONDS_BETWEEN_WRITES)
        finally:
            connection.close()

    def _snapshot(self) -> dict[str, Any]:
        now = time.monotonic()
        while self._samples and now - self._samples[0][0] > _RATE_SECONDS:
            self._samples.popleft()
        values = self._values | _rates(self._samples)
        values |= {"reported": datetime.now(UTC), "incidents": incidents.recent()}
        return values | {"block_source": self._block_source()} if self._block_source else values


def _rates(samples: Sequence[tuple[float, int, int]]) -> dict[str, float | None]:
    rates: dict[str, float | None] = {"transaction_rate": None, "stream_rate": None}
    if len(samples) >= 2:
        (began, transactions, start), (ended, more_transactions, end) = samples[0], samples[-1]
        rates["transaction_rate"] = (more_transactions - transactions) / (ended - began)
        rates["stream_rate"] = (end - start) / NANOS_PER_SECOND / (ended - began)
    return rates


def _write(values: dict[str, Any]) -> None:
    """Write the row. A failure stops no loader: it will meet the database itself."""
    try:
        LoaderState.objects.bulk_create(
            [LoaderState(id=1, **values)],
            update_conflicts=True,
            unique_fields=["id"],
            update_fields=list(values),
        )
    except Error as error:
        if outage.is_outage(error):
            outage.report(error)
        else:
            log.warning("report_not_written", reason=outage.reason(error))
        connection.close()
