"""Ranges of consensus timestamps: closed ones that some searches need, and the configured longest range."""

from collections.abc import Sequence

from ledger.queries import transactions
from mirror.core import config
from mirror.core.config.clock import now_ns
from mirror.core.db.reading.sql import Comparison
from mirror.core.db.sql.bounds import Bounds
from mirror.core.rest.answers.errors import BadRequest
from mirror.core.values.timestamp import NANOS_PER_DAY, NANOS_PER_SECOND

_NANOS_PER_UNIT = (("d", NANOS_PER_DAY), ("h", 3600 * NANOS_PER_SECOND), ("m", 60 * NANOS_PER_SECOND))


def check_closed(comparisons: Sequence[Comparison], *, because: str) -> None:
    """One equality, or one lower and one upper bound no further apart than the configured maximum.

    Errors: BadRequest that begins with `because`.
    """
    problem = _problem(comparisons)
    if problem is not None:
        raise BadRequest(because + problem)


def _problem(comparisons: Sequence[Comparison]) -> str | None:
    if not comparisons:
        return "No timestamp range or eq operator provided"
    operators = set()
    for operator, _ in comparisons:
        side = operator[:2]
        if side == "ne":
            return "Not equals operator not supported for timestamp param"
        if side != "eq" and side in operators:
            return f"Multiple {side} or {side}e operators not permitted for timestamp param"
        operators.add(side)
    if operators == {"eq"}:
        return None
    if "eq" in operators:
        return "Cannot combine eq with ne, gt, gte, lt, or lte for timestamp param"
    bounds = Bounds.of(comparisons)
    if bounds.lower is None or bounds.upper is None:
        return "Timestamp range must have gt (or gte) and lt (or lte), or eq operator"
    longest = nanoseconds("rest.query.maxTimestampRange")
    if bounds.empty or bounds.upper - bounds.lower > longest:
        return (
            "Timestamp range by the lower and upper bounds must be positive and within "
            f"{_duration_text(longest)}"
        )
    return None


def _duration_text(length: int) -> str:
    for unit, size in _NANOS_PER_UNIT:
        if length % size == 0:
            return f"{length // size}{unit}"
    return f"{length / NANOS_PER_SECOND:g}s"


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
    """Return the value of a setting that is a duration."""
    seconds: float = config.value(setting)
    return round(seconds * NANOS_PER_SECOND)
