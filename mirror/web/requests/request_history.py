"""The history of requests by the minute, for the charts of the admin: rows of node_minute.

At the end of a minute, each web server process compares the counts of all processes with those of a minute
before. The row is that of the process which has counted most: one that has begun meanwhile knows only a part.
The rows of minutes during which the database was away are written later.
"""

import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from django.db import connection
from psycopg.errors import ReadOnlySqlTransaction

from ledger import loaded_ranges
from mirror.core import logs
from mirror.core.config import clock
from mirror.core.db.availability import outage
from mirror.core.db.reading import bounded_query
from mirror.core.metrics import files, http, ingest
from mirror.core.metrics.types import Histogram
from mirror.core.values.timestamp import NANOS_PER_SECOND

log = logs.logger("mirror.web")

_SECONDS, _KEPT_DAYS = 60, 14
_PATIENCE_SECONDS = 10.0
# An outage of up to an hour leaves no gap.
_MAX_UNWRITTEN = 60
_API = "/api/"
_REFUSED = frozenset({"429", "503"})

# Index: the primary key (minute).
_WRITE = """
    insert into node_minute (minute, requests, failures, refused, p50_milliseconds, p99_milliseconds,
        lag_seconds, transactions)
    values (%s, %s, %s, %s, %s, %s, %s, %s)
    on conflict (minute) do update set requests = excluded.requests, failures = excluded.failures,
        refused = excluded.refused, p50_milliseconds = excluded.p50_milliseconds,
        p99_milliseconds = excluded.p99_milliseconds, lag_seconds = excluded.lag_seconds,
        transactions = excluded.transactions
    where (excluded.requests, excluded.transactions) > (node_minute.requests, node_minute.transactions)"""
_FORGET = "delete from node_minute where minute < %s - make_interval(days => %s)"


class Counts(NamedTuple):
    """The counts of a node up to now: requests of the API in the shape of their histogram."""

    requests: Sequence[float]
    failures: int
    refused: int
    transactions: int

    @classmethod
    def read(cls) -> "Counts":
        values = files.read().values
        of_api: list[Sequence[float]] = [[0.0] * (len(http.REQUESTS.bounds) + 2)]
        failures = refused = 0
        for (route, _, status), value in values.get(http.REQUESTS.name, {}).items():
            if route.startswith(_API):
                of_api.append(value)
                refused += sum(value[1:]) if status in _REFUSED else 0
                failures += sum(value[1:]) if status[0] == "5" and status not in _REFUSED else 0
        loaded: Mapping[tuple[str, ...], int] = values.get(ingest.TRANSACTIONS.name, {})
        return cls(Histogram.sum(of_api), failures, refused, sum(loaded.values()))

    def since(self, before: "Counts") -> "Counts":
        """Return what was counted since then. Counts only fall when someone removes their files."""
        requests = [max(now - then, 0) for now, then in zip(self.requests, before.requests, strict=True)]
        numbers = (max(now - then, 0) for now, then in zip(self[1:], before[1:], strict=True))
        return Counts(requests, *numbers)


class Row(NamedTuple):
    """A row of node_minute, in the order of its columns."""

    minute: datetime
    requests: int
    failures: int
    refused: int
    p50_milliseconds: float | None
    p99_milliseconds: float | None
    lag_seconds: float | None
    transactions: int


class Minutes:
    """The minutes of a web server process."""

    def __init__(self, ask: Callable[[Callable[[], None], float], None] = bounded_query.run_query) -> None:
        self._ask = ask
        self._counts = Counts.read()
        # When the minute at hand ends.
        self._ends = 0.0
        self._unwritten: deque[Row] = deque(maxlen=_MAX_UNWRITTEN)

    def record(self) -> float:
        """Write a row at the end of each minute; a repeated check."""
        ended = time.time() // _SECONDS * _SECONDS
        # A minute whose row can't be made is not tried again.
        ends, self._ends = self._ends, ended + _SECONDS
        if ends and ended >= ends:
            self.end(datetime.fromtimestamp(ends - _SECONDS, UTC))
        return max(self._ends - time.time(), 0.0)

    def end(self, minute: datetime) -> None:
        """Write the row of a minute that has ended, and those that could not be written before."""
        counts = Counts.read()
        passed, self._counts = counts.since(self._counts), counts
        p50, p99 = (_milliseconds(http.REQUESTS.quantile(share, passed.requests)) for share in (0.5, 0.99))
        requests = round(sum(passed.requests[1:]))
        self._unwritten.append(
            Row(minute, requests, passed.failures, passed.refused, p50, p99, None, passed.transactions)
        )
        try:
            self._ask(self._write, _PATIENCE_SECONDS)
        except (bounded_query.QueryTimeout, *outage.ERRORS) as error:
            if isinstance(error, bounded_query.QueryTimeout) or outage.is_outage(error):
                return
            # The database may be a read-only copy.
            if not isinstance(error.__cause__, ReadOnlySqlTransaction):
                log.warning("minute_not_written", reason=outage.reason(error))
        self._unwritten.clear()

    def _write(self) -> None:
        self._unwritten[-1] = self._unwritten[-1]._replace(lag_seconds=_lag_seconds())
        with connection.cursor() as cursor:
            cursor.executemany(_WRITE, list(self._unwritten))
            cursor.execute(_FORGET, [self._unwritten[-1].minute, _KEPT_DAYS])


def _lag_seconds() -> float | None:
    """Return the seconds from the last block to now; None without any."""
    last = loaded_ranges.last_time()
    return None if last is None else max(clock.now_ns() - last, 0) / NANOS_PER_SECOND


def _milliseconds(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1000
