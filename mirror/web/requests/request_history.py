"""The history of requests by the minute, for the charts of the admin: rows of node_minute.

At the end of a minute, each web server process compares the counts of all processes with those of a minute
before. The row is that of the process which has counted most: one that has begun meanwhile knows only a part.
The rows of minutes during which the database was away are written later.
"""

import math
import time
from collections import defaultdict, deque
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import NamedTuple

from django.db import connection
from psycopg.errors import ReadOnlySqlTransaction

from ledger import loaded_ranges
from mirror.core import logs, metrics
from mirror.core.config import clock
from mirror.core.db.availability import bounded_query, outage
from mirror.core.values.timestamp import NANOS_PER_SECOND

log = logs.logger("mirror.web")

_SECONDS, _KEPT_DAYS = 60, 14
_PATIENCE_SECONDS = 10.0
# An outage of up to an hour leaves no gap.
_MAX_UNWRITTEN = 60
_API = "/api/"
_REQUESTS, _TRANSACTIONS = "mirror_http_request_seconds", "mirror_ingest_transactions_total"
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
    """The counts of a node up to now; of requests of the API, how many took at most each bound in seconds."""

    requests: Mapping[float, float]
    failures: float
    refused: float
    transactions: float

    @classmethod
    def read(cls) -> "Counts":
        requests: dict[float, float] = defaultdict(float)
        failures = refused = transactions = 0.0
        for sample in (sample for family in metrics.families() for sample in family.samples):
            if sample.name == f"{_REQUESTS}_bucket" and sample.labels["route"].startswith(_API):
                requests[float(sample.labels["le"])] += sample.value
            elif sample.name == f"{_REQUESTS}_count" and sample.labels["route"].startswith(_API):
                status = sample.labels["status"]
                refused += sample.value if status in _REFUSED else 0
                failures += sample.value if status[0] == "5" and status not in _REFUSED else 0
            elif sample.name == _TRANSACTIONS:
                transactions += sample.value
        return cls(requests, failures, refused, transactions)

    def since(self, before: "Counts") -> "Counts":
        """Return what was counted since then. Counts only fall when someone removes their files."""
        requests = {
            bound: max(count - before.requests.get(bound, 0), 0) for bound, count in self.requests.items()
        }
        numbers = (max(now - then, 0) for now, then in zip(self[1:], before[1:], strict=True))
        return Counts(requests, *numbers)

    def quantile(self, share: float) -> float | None:
        """Return the seconds that this share of requests does not exceed, as nearly as the bounds allow.

        Within a bucket, requests count as evenly spread; nothing is known above the last bound.
        """
        rank = share * self.requests.get(math.inf, 0)
        if not rank:
            return None
        lower, below = 0.0, 0.0
        for bound, count in sorted(self.requests.items())[:-1]:
            if rank <= count:
                return lower + (bound - lower) * (rank - below) / (count - below)
            lower, below = bound, count
        return lower


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
        p50, p99 = (_milliseconds(passed.quantile(share)) for share in (0.5, 0.99))
        requests, failures, refused, transactions = map(
            round, (passed.requests.get(math.inf, 0), *passed[1:])
        )
        self._unwritten.append(Row(minute, requests, failures, refused, p50, p99, None, transactions))
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
