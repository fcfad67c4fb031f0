"""Closed ranges of consensus timestamps, which some searches need."""

from collections.abc import Sequence

from ledger.queries.timestamp_ranges import nanoseconds
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
