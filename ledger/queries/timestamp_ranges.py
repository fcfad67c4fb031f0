"""The configured longest range of consensus timestamps, and other settings that are durations."""

from ledger.queries import transactions
from mirror.core import config
from mirror.core.config.clock import now_ns
from mirror.core.db.reading.query import Bounds
from mirror.core.values.timestamp import NANOS_PER_SECOND


def bound(timestamps: Bounds, *, descending: bool) -> tuple[Bounds, int | None]:
    """Return the range to search, cut to the configured length if there is one.

    Also return its cut end, where the next page continues; None if nothing was cut off.
    """
    if not config.value("rest.query.bindTimestampRange") or timestamps.equal:
        return timestamps, None
    lower = transactions.first_consensus_timestamp() if timestamps.lower is None else timestamps.lower
    upper = now_ns() if timestamps.upper is None else timestamps.upper
    longest = nanoseconds("rest.query.maxTransactionsTimestampRange")
    if upper - lower < longest:
        return timestamps.between(lower, upper), None
    if descending:
        lower = continue_at = upper - longest + 1
    else:
        upper = continue_at = lower + longest - 1
    return timestamps.between(lower, upper), continue_at


def nanoseconds(setting: str) -> int:
    seconds: float = config.value(setting)
    return round(seconds * NANOS_PER_SECOND)
