"""Retries of a follower: it tries for its next file again after growing pauses, until it succeeds."""

import time

from ledger.ingest.errors import IngestError
from ledger.ingest.reporting import Problem, Reporting
from ledger.stream.errors import StreamFileError
from mirror.core import logs
from mirror.core.metrics import ingest

log = logs.logger(__name__)

# A file that only some nodes have published is a problem after this time.
SECONDS_BEFORE_STUCK = 10.0


class RetryState:
    """Why a follower waits, since when, and how long until the next try.

    `shortest` and `longest` bound the pauses (seconds).
    """

    def __init__(self, shortest: float, longest: float, report: Reporting | None) -> None:
        self._shortest = shortest
        self._longest = longest
        self._report = report
        self._failing_since: float | None = None
        self._next = shortest
        # How long to wait now (seconds).
        self.pause = shortest
        # The reason, None if the last try succeeded.
        self.problem: StreamFileError | IngestError | None = None

    def note(self, problem: StreamFileError | IngestError) -> None:
        """Note a failed try: the pauses grow, and a lasting problem is reported."""
        now = time.monotonic()
        self._failing_since = self._failing_since or now
        self.problem = problem
        self.pause, self._next = self._next, min(self._next * 2, self._longest)
        ingest.REFUSED.labels(problem.kind).inc()
        log.info("file_awaited", file=problem.file, reason=str(problem), pause_s=round(self.pause, 1))
        if self._report and now - self._failing_since >= SECONDS_BEFORE_STUCK:
            self._report.stuck(Problem.from_error(problem))

    def end(self) -> None:
        """Note that a try succeeded."""
        self.pause = self._next = self._shortest
        self._failing_since, self.problem = None, None
